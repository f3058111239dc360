#!/usr/bin/env bash
# Fuzzes one target after the other with the stable toolchain, beginning with the fixtures of tests; what was found is in fuzz/artifacts.
# usage: fuzz/run.sh [SECONDS [TARGET…]] (default: 600 seconds, all targets)
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-600}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- table groups_and_splits journal magnitudes model workbook

# libFuzzer's instrumentation needs no nightly compiler; with --target, build scripts are not instrumented.
host=$(rustc -vV | sed -n 's/^host: //p')
llvm="-Cllvm-args=-sanitizer-coverage"
export "CARGO_TARGET_$(echo "$host" | tr a-z- A-Z_)_RUSTFLAGS=-Cpasses=sancov-module $llvm-level=4 $llvm-inline-8bit-counters $llvm-pc-table $llvm-trace-compares --cfg fuzzing -Cdebug-assertions"
cargo build --release --target "$host" --bins
cargo run --quiet --example seeds
mkdir -p artifacts
# Every input is written to a file: twice as fast in memory as on a disk.
export TMPDIR=${TMPDIR:-/dev/shm}
found=0
for target in "$@"; do
    # Magnitudes are one byte per cell, and a path is computed for every input.
    length=4096; [ "$target" != magnitudes ] || length=300
    "${CARGO_TARGET_DIR:-target}/$host/release/$target" -max_total_time="$seconds" -max_len=$length -timeout=10 -rss_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="artifacts/$target-" "corpus/$target" >"artifacts/$target.log" 2>&1 || { found=1; tail -n 20 "artifacts/$target.log"; }
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "artifacts/$target.log") executions, $(find artifacts -name "$target-*" | wc -l) findings"
done
exit $found
