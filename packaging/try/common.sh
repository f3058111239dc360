# shellcheck shell=bash
# Sourced by the scripts of this directory: counting, skipping, the static program, environments of Python, and what an
# installed program must be able to do.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
host=$(rustc --print host-tuple)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0
# Nothing of the environment may set an option.
unset "${!CRFE_@}"

# try WHAT COMMAND…: runs it, counts it, and shows its output if it fails.
try() {
    local what=$1 began=$SECONDS
    shift
    # In the background, because inside a condition a function would not stop at its first failure.
    "$@" >"$scratch/log" 2>&1 &
    if wait $!; then
        passed=$((passed + 1))
        echo "  passed: $what ($((SECONDS - began)) s)"
    else
        failed=$((failed + 1))
        echo "  FAILED: $what"
        sed 's/^/    /' "$scratch/log"
    fi
}

# skip REASON: what could not be tried; the script goes on or ends after it.
skip() { echo "SKIPPED: $(basename "$0"): $*" >&2; }

finish() {
    echo "$(basename "$0"): $passed passed, $failed failed"
    [ "$failed" = 0 ]
}

# The static program, in one build that wheel, package and installation share.
export RUSTFLAGS="-C target-feature=+crt-static"
static=$root/target/$host/release/crfe-tui
build_static() {
    if ! printf 'int main(void){return 0;}' | cc -static -x c - -o /dev/null 2>/dev/null; then
        skip "there is no static C library to build a static program with"
        finish
        exit
    fi
    cargo build --quiet --release --locked --target "$host"
}

# python_with NAME PACKAGE…: an environment target/venvs/NAME with these packages; fails if they cannot be had.
python_with() {
    local venv=$root/target/venvs/$1
    shift
    if [ "$(cat "$venv/packages" 2>/dev/null)" != "$*" ]; then
        rm -rf "$venv"
        python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" || return 1
        echo "$*" >"$venv/packages"
    fi >"$scratch/pip" 2>&1
}

# usable COMMAND…: the program that COMMAND starts has this version, runs, reports, fits and predicts.
# Its working directory must hold heart.csv; it leaves RUN, M.json and predictions.csv.
usable() {
    "$@" --version --json | grep -q "\"version\": \"$version\"" &&
        "$@" run heart.csv --splits 2 --validate none --permutations none --quiet --out RUN &&
        "$@" report RUN --quiet &&
        "$@" fit heart.csv --splits 2 --validate none --permutations none --quiet --model M.json &&
        "$@" predict M.json heart.csv --quiet --out predictions.csv
}

# left_results DIRECTORY: what `usable` leaves is there.
left_results() { [ -s "$1/RUN/report.html" ] && [ -s "$1/RUN/selected.txt" ] && [ "$(wc -l <"$1/predictions.csv")" = 304 ]; }
