#!/bin/bash
# MultiQC from PyPI reads crfe_mqc.json and crfe_mqc_versions.yml of two runs: its report has every method and the version.
# Usage: tests/multiqc.sh [PROGRAM]; last line: multiqc: P passed, F failed, S skipped
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-$here/target/debug/crfe-tui}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
verdict() {
    echo "multiqc: $1 passed, $2 failed, $3 skipped"
    [ "$2" = 0 ]
    exit
}
fail() {
    echo "FAILED: $1" >&2
    tail -n 15 "$work/multiqc.log" >&2 2>/dev/null
    verdict 0 1 0
}
# MULTIQC names one that is installed.
multiqc=${MULTIQC:-$(command -v multiqc || true)}
if [ -z "$multiqc" ]; then
    { python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q multiqc; } >"$work/pip.log" 2>&1 || {
        tail -n 2 "$work/pip.log" >&2
        echo "SKIPPED: MultiQC cannot be installed" >&2
        verdict 0 0 1
    }
    multiqc=$work/venv/bin/multiqc
fi
cd "$here" || exit 1
for name in heart dermatology; do
    "$program" run "data/$name.csv" --splits 3 --validate 2 --permutations none --stop 5 --quiet --out "$work/runs/$name" >/dev/null ||
        fail "the run of $name"
done
"$multiqc" --strict --no-ansi -o "$work/out" "$work/runs" >"$work/multiqc.log" 2>&1 || fail "MultiQC ends with an error"
"$here/tests/multiqc.py" "$work/out/multiqc_data" "$work/runs" || fail "what MultiQC read is not what the runs say"
grep -q "crfe-tui" "$work/out/multiqc_report.html" || fail "the report of MultiQC does not name crfe-tui"
verdict 1 0 0
