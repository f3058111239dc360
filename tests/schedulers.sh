#!/bin/bash
# The scripts for every scheduler: bash and shellcheck accept them, and run by hand with the variables of each task of the array they
# leave the files of an undivided run, byte for byte. Real Slurm: tests/slurm.sh.
# Usage: tests/schedulers.sh [PROGRAM]; last line: schedulers: P passed, F failed, S skipped
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$here/target/debug/crfe-tui}
program=$(realpath "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

fail() {
    echo "FAILED: $1" >&2
    [ -z "${2-}" ] || tail -n 5 "$2" >&2
    failed=$((failed + 1))
}
if ! command -v shellcheck >/dev/null && [ "${CI-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get install -y --no-install-recommends shellcheck || { apt-get update && apt-get install -y shellcheck; }; } \
        >"$work/apt.log" 2>&1
    rm -f "$work/apt.log"
fi
if ! command -v shellcheck >/dev/null; then
    echo "SKIPPED: the scripts were not checked: install shellcheck, or let CI=true install it" >&2
    skipped=1
fi

# The files of a run that do not depend on who computed it.
files() { (cd "$1" && find . -type f ! -name 'journal-*' ! -name 'timing-*' ! -name '.lock-*' ! -name 'shards.*' ! -name 'report.[^h]*' ! -name '*.o*' ! -name '*.log' | sort); }

cd "$here" || exit 1
options=(data/heart.csv --splits 5 --permutations 9)
# Threads are given by the schedulers' variables; the environment of this shell has none of them.
for variable in SLURM_ARRAY_TASK_ID SGE_TASK_ID PBS_ARRAY_INDEX PBS_ARRAYID LSB_JOBINDEX AWS_BATCH_JOB_ARRAY_INDEX; do unset "$variable"; done
"$program" run "${options[@]}" --out "$work/single" --quiet >/dev/null || fail "the undivided run"
[ "$(files "$work/single" | wc -l)" -ge 20 ] || fail "the undivided run has too few files to compare"

compare() {
    diff <(files "$work/single") <(files "$1") >"$work/diff.log" || { fail "$2 has other files"; return 1; }
    local name
    while read -r name; do
        cmp "$work/single/$name" "$1/$name" || { diff "$work/single/$name" "$1/$name" | cut -c1-200 | head -n 6; fail "$2: $name differs"; return 1; }
    done < <(files "$work/single")
}

tasks=3
one() { # SCHEDULER VARIABLE FIRST SUFFIX
    local run=$work/$1 script
    "$program" cluster "${options[@]}" --scheduler "$1" --tasks $tasks --cpus 2 --submit='-l mem=1' --out "$run" \
        >"$work/$1.said" || { fail "crfe-tui cluster --scheduler $1"; return; }
    for script in "$run"/shards.$4 "$run"/report.$4; do
        bash -n "$script" || { fail "bash refuses $script"; return; }
        if command -v shellcheck >/dev/null; then
            shellcheck "$script" || { fail "shellcheck objects to $script"; return; }
        fi
    done
    bash -n <(sed -n '2s/^  //p' "$work/$1.said") || { fail "bash refuses the submission for $1"; return; }
    # Outside an array the script says what is missing, and computes nothing.
    if bash "$run/shards.$4" >"$work/$1.log" 2>&1 || ! grep -q "not a task of a job array" "$work/$1.log"; then
        fail "$1: a job without an array was not refused"
        return
    fi
    for ((task = $3; task < $3 + tasks; task++)); do
        env "$2=$task" bash "$run/shards.$4" >"$work/$1.log" 2>&1 || { fail "task $task of $1"; return; }
    done
    if env "$2=$task" bash "$run/shards.$4" >"$work/$1.log" 2>&1; then
        fail "$1: task $task of $tasks was not refused"
        return
    fi
    bash "$run/report.$4" >"$work/$1.log" 2>&1 || { fail "the report of $1"; return; }
    compare "$run" "$1" && passed=$((passed + 1)) && echo "$1: $tasks tasks and a report leave the files of an undivided run"
}
one slurm SLURM_ARRAY_TASK_ID 1 sbatch
one sge SGE_TASK_ID 1 sge
one pbs PBS_ARRAY_INDEX 1 pbs
one torque PBS_ARRAYID 1 torque
one lsf LSB_JOBINDEX 1 lsf
# AWS Batch runs a command line, numbered from 0.
for ((task = 0; task < tasks; task++)); do
    AWS_BATCH_JOB_ARRAY_INDEX=$task "$program" run "${options[@]}" --out "$work/aws" --shard auto/$tasks >"$work/aws.log" 2>&1 ||
        fail "task $task of AWS Batch"
done
"$program" report "$work/aws" >"$work/aws.log" 2>&1 || fail "the report of AWS Batch"
compare "$work/aws" "AWS Batch" && passed=$((passed + 1)) && echo "AWS Batch: $tasks tasks and a report leave the files of an undivided run"
echo "schedulers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
