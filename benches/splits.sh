#!/bin/bash
# How the time of a run grows with the number of splits: a table of one feature, where scheduling is most of it, and heart.
# Usage: benches/splits.sh [PROGRAM [SPLITS…]]; prints seconds, and microseconds per split, which should stay the same.
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
printf '%-10s %8s %10s %12s\n' table splits seconds µs/split
for table in "$scratch/one.csv" "$here/data/heart.csv"; do
    for splits in "$@"; do
        begin=$(date +%s%N)
        "$program" run "$table" --splits "$splits" -q >/dev/null
        took=$(($(date +%s%N) - begin))
        printf '%-10s %8d %10.2f %12.1f\n' "$(basename "$table")" "$splits" "$(echo "$took/1000000000" | bc -l)" "$(echo "$took/1000/$splits" | bc -l)"
    done
done
