#!/bin/bash
# How the processor time of a run grows with the number of splits: a table of one feature, where scheduling is most of it, and heart.
# Usage: benches/splits.sh [PROGRAM [SPLITS…]]; prints seconds (user and system), and microseconds per split, which should stay the same.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$here/target/release/crfe-tui}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 1000 2000 4000 8000 16000
# Paths alone: folds and permutations do not grow with the splits of a path.
export CRFE_VALIDATE=none CRFE_PERMUTATIONS=none
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk 'BEGIN{print "f0,class"; for(i=0;i<40;i++) print (i*37%11) ",c" i%2}' >"$scratch/one.csv"
TIMEFORMAT='%U %S'
printf '%-10s %8s %12s %14s\n' table splits 'processor s' 'µs per split'
for table in "$scratch/one.csv" "$here/data/heart.csv"; do
    for splits in "$@"; do
        { time "$program" run "$table" --splits "$splits" -q >/dev/null 2>&1; } 2>"$scratch/took"
        awk -v table="$(basename "$table")" -v splits="$splits" \
            '{ printf "%-10s %8d %12.2f %14.1f\n", table, splits, $1 + $2, 1e6 * ($1 + $2) / splits }' "$scratch/took"
    done
done
