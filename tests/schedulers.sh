#!/bin/bash
# The script for Slurm and the examples for other schedulers: bash and shellcheck accept them, and run by hand with the variables of
# each task of the array they leave the files of an undivided run, byte for byte. Real Slurm: tests/slurm.sh.
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
files() { (cd "$1" && find . -type f ! -name 'journal-*' ! -name 'timing-*' ! -name '.lock-*' ! -name '*.sbatch' | sort); }

cd "$here" || exit 1
options=(data/heart.csv --splits 5 --permutations 9)
# The variables of a job in which this test may run.
unset SLURM_ARRAY_TASK_ID SGE_TASK_ID PBS_ARRAY_INDEX PBS_ARRAYID LSB_JOBINDEX
"$program" run "${options[@]}" --out "$work/single" --quiet >/dev/null || fail "the undivided run"
[ "$(files "$work/single" | wc -l)" -ge 20 ] || fail "the undivided run has too few files to compare"

compare() {
    diff <(files "$work/single") <(files "$1") >"$work/diff.log" || { fail "$2 has other files"; return 1; }
    local name
    while read -r name; do
        cmp "$work/single/$name" "$1/$name" || { diff "$work/single/$name" "$1/$name" | cut -c1-200 | head -n 6; fail "$2: $name differs"; return 1; }
    done < <(files "$work/single")
}

# The examples call crfe-tui by its name.
mkdir "$work/bin" && ln -s "$program" "$work/bin/crfe-tui"
PATH=$work/bin:$PATH
tasks=3

accepted() { # SCRIPT
    bash -n "$1" || { fail "bash refuses $1"; return 1; }
    ! command -v shellcheck >/dev/null || shellcheck "$1" || { fail "shellcheck objects to $1"; return 1; }
}

tasks_of() { # NAME SCRIPT VARIABLE RUN REPORT…
    local task
    accepted "$2" || return
    # Outside an array, and with a number outside of it, nothing is computed.
    for task in "" 0 $((tasks + 1)); do
        if env ${task:+"$3=$task"} bash "$2" >"$work/$1.log" 2>&1 || ! grep -q -e "write i/N" -e "is not set" "$work/$1.log"; then
            fail "$1: task '$task' of $tasks was not refused" "$work/$1.log"
            return
        fi
    done
    for ((task = 1; task <= tasks; task++)); do
        env "$3=$task" bash "$2" >"$work/$1.log" 2>&1 || { fail "task $task of $1" "$work/$1.log"; return; }
    done
    "${@:5}" >"$work/$1.log" 2>&1 || { fail "the report of $1" "$work/$1.log"; return; }
    compare "$4" "$1" && passed=$((passed + 1)) && echo "$1: $tasks tasks and a report leave the files of an undivided run"
}

# The script that crfe-tui writes.
slurm=$work/slurm
if "$program" cluster "${options[@]}" --tasks $tasks --cpus 2 --submit='--mem=1G' --out "$slurm" >"$work/slurm.said"; then
    bash -n <(sed -n '2s/^  //p' "$work/slurm.said") || fail "bash refuses the submission"
    accepted "$slurm/report.sbatch"
    tasks_of slurm "$slurm/shards.sbatch" SLURM_ARRAY_TASK_ID "$slurm" bash "$slurm/report.sbatch"
else
    fail "crfe-tui cluster"
fi

# An example, with this run in place of its own.
example() { # NAME VARIABLE
    sed "s|^tasks=.*|tasks=$tasks|; s|^run=.*|run=(${options[*]} --out $work/$2)|" "examples/schedulers/$1.sh" >"$work/$2.sh"
    PBS_O_WORKDIR=$here tasks_of "$1 with $2" "$work/$2.sh" "$2" "$work/$2" crfe-tui report "$work/$2"
}
example sge SGE_TASK_ID
example pbs PBS_ARRAY_INDEX
example pbs PBS_ARRAYID
example lsf LSB_JOBINDEX
echo "schedulers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
