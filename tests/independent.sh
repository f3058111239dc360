#!/usr/bin/env bash
# The answer, its nested validation and its permutation control, recomputed with numpy and scikit-learn (tests/independent/check.py).
# usage: tests/independent.sh PROGRAM; skipped, with the reason, where scikit-learn cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "$1")
python=${CRFE_PYTHON:-}
venv=target/independent-venv
if [ -z "$python" ] && python3 -c 'import numpy, sklearn' 2>/dev/null; then
    python=python3
elif [ -z "$python" ]; then
    if ! $venv/bin/python -c 'import sklearn' 2>/dev/null; then
        python3 -m venv $venv 2>/dev/null && $venv/bin/pip install -q scikit-learn 2>/dev/null || rm -rf $venv
    fi
    [ ! -x $venv/bin/python ] || python=$venv/bin/python
fi
if [ -z "$python" ]; then
    echo "SKIPPED: the answer was not recomputed with scikit-learn, which cannot be installed here" >&2
    exit 0
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Splits, folds, permutations and seed.
for numbers in "4 3 4 0" "3 3 2 1"; do
    for table in heart dermatology; do
        # shellcheck disable=SC2086 # numbers are words
        "$python" tests/independent/check.py "$program" data/$table.csv $numbers
    done
done
