#!/bin/bash
# What a directory, a file or a second process of somebody else must not be able to do: links, pipes, devices, limits, signals.
# Usage: tests/hostile.sh [PROGRAM [CASE…]]; last line: hostile: P passed, F failed, S skipped
set -u

here=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-$here/target/debug/crfe-tui}")
shift
only=("$@")
# In memory, where there is such a disk: hundreds of small files are synced.
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
[ -x "$program" ] || { echo "FAILED: there is no program $program; build it first" >&2; exit 1; }

export XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config
unset "${!CRFE_@}"
# Paths alone: folds and permutations have tests of their own, and would make every run many times longer.
export CRFE_VALIDATE=none CRFE_PERMUTATIONS=none
cp "$here"/data/*.csv "$work"
cd "$work" || exit 1

# A program that never ends is ended after a minute: 124.
C() { timeout -k 5 "${LIMIT:-60}" "$program" "$@" </dev/null >out 2>err; }
fail() { echo "    $*; standard error: $(head -c 300 err 2>/dev/null)" >&2; return 1; }
skip() { echo "SKIPPED: $*" >&2; return 77; }
exits() { local wanted=$1; shift; "$@"; local code=$?; [ "$code" = "$wanted" ] || fail "exit $code instead of $wanted: $*"; }
says() { grep -qF -- "$1" err || fail "it does not say '$1'"; }
holds() { [ "$(cat "$2")" = "$1" ] || fail "$2 was changed"; }
absent() { [ ! -e "$1" ] || fail "$1 was made"; }
# A finished run of two splits in R.
small_run() { exits 0 C run heart.csv --splits 2 --out R -q; }

case_links_of_old_temporaries() {
    small_run && echo precious >precious || return
    local file
    for file in report.html selected.txt metrics.csv; do ln -s ../precious "R/.$file.part"; done
    exits 0 C report R -q && holds precious precious
}
case_link_with_a_name_of_ours() {
    small_run && echo precious >precious && ln -sf ../precious R/selected.txt || return
    exits 0 C report R -q && holds precious precious && [ ! -L R/selected.txt ]
}
case_link_as_lock() {
    small_run && echo precious >precious && rm R/.lock-* && ln -s ../precious "R/.lock-1of1-$(hostname)" || return
    exits 6 C run heart.csv --splits 3 --out R -q && says "symbolic link" && holds precious precious
}
case_foreign_file_as_lock() {
    small_run && rm R/.lock-* && echo precious >"R/.lock-1of1-$(hostname)" || return
    exits 5 C run heart.csv --splits 3 --out R -q && says "not a lock of crfe-tui" && holds precious "R/.lock-1of1-$(hostname)"
}
case_link_as_lock_of_the_report() {
    small_run && echo precious >precious && ln -s ../precious R/.lock-report || return
    exits 6 C report R -q && holds precious precious
}
case_link_as_slurm_script() {
    mkdir R && echo precious >precious && ln -s ../precious R/shards.sbatch || return
    exits 5 C slurm heart.csv --splits 4 --tasks 2 --out R && holds precious precious
}
case_own_slurm_script() {
    mkdir R && echo precious >R/report.sbatch || return
    exits 5 C slurm heart.csv --splits 4 --tasks 2 --out R && says report.sbatch && holds precious R/report.sbatch &&
        absent R/shards.sbatch || return
    rm R/report.sbatch && exits 0 C slurm heart.csv --splits 4 --tasks 2 --out R && exits 0 C slurm heart.csv --splits 4 --tasks 3 --out R
}
case_own_slurm_script_under_force() {
    small_run && echo precious >R/report.sbatch || return
    exits 0 C run heart.csv --splits 1 --lambda 0.3 --out R -q --force && holds precious R/report.sbatch
}
case_figures_as_link() {
    small_run && rm -r R/figures && mkdir other && echo precious >other/accuracy.svg && ln -s ../other R/figures || return
    exits 6 C report R -q && says "not a link" && holds precious other/accuracy.svg && [ "$(ls other)" = accuracy.svg ]
}
case_figures_as_link_under_force() {
    small_run && rm -r R/figures && mkdir other && echo precious >other/accuracy.svg && ln -s ../other R/figures || return
    C run heart.csv --splits 1 --lambda 0.3 --out R -q --force
    holds precious other/accuracy.svg && [ "$(ls other)" = accuracy.svg ]
}
case_directory_without_permission() {
    [ "$(id -u)" != 0 ] || command -v setpriv >/dev/null || { skip "root may write everywhere, and there is no setpriv"; return; }
    small_run && chmod 644 R/journal-* && chmod 555 R && chmod 755 "$work" . && cp "$program" program || return
    local nobody=()
    [ "$(id -u)" != 0 ] || nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${nobody[@]}" ./program report R -q >out 2>err
    local code=$?
    [ $code = 6 ] && says "Permission denied" || fail "exit $code"
}
case_pipe_as_old_temporary() { small_run && mkfifo R/.metrics.csv.part && exits 0 C report R -q; }
case_pipe_as_output() { small_run && rm R/metrics.csv && mkfifo R/metrics.csv && exits 0 C report R -q && [ -f R/metrics.csv ]; }
case_pipe_as_journal() { small_run && mkfifo R/journal-1of1-ff-1.jsonl && exits 3 C report R -q && says "a pipe"; }
case_device_as_journal() { small_run && ln -s /dev/zero R/journal-1of1-ff-1.jsonl && exits 3 C report R -q && says "a symbolic link"; }
case_link_as_journal() {
    small_run && mkdir S && ln -s ../R/$(basename R/journal-*) S/journal-1of1-ff-1.jsonl || return
    exits 3 C report S -q && says "a symbolic link"
}
case_pipe_as_timing() { small_run && for t in R/timing-*; do rm "$t"; mkfifo "$t"; done && exits 0 C report R -q; }
case_pipe_as_lock() { small_run && rm R/.lock-* && mkfifo "R/.lock-1of1-$(hostname)" && exits 6 C run heart.csv --splits 3 --out R -q; }
case_pipe_as_another_lock() { small_run && mkfifo R/.lock-2of3-x && exits 0 C run heart.csv --splits 1 --out R -q --force; }
case_pipe_as_manifest() { small_run && rm R/manifest.json && mkfifo R/manifest.json && exits 0 C report R -q; }

# Many reports at once: none fails, and what is left is what one alone writes.
case_reports_beside_reports() {
    exits 0 C run dermatology.csv --splits 4 --out R -q && cp -r R alone && exits 0 C report alone -q || return
    local round i pid
    for round in 1 2 3 4 5; do
        local pids=() code=0
        for i in 1 2 3; do timeout 120 "$program" report R -q >/dev/null 2>>errors & pids+=($!); done
        for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
        [ "$code" = 0 ] || { cat errors >err; fail "a report ended with $code"; return; }
        diff -r -x 'journal-*' -x 'timing-*' R alone >err || { fail "the files differ"; return; }
    done
    [ -z "$(find R -name '*.part' -o -name .lock-report)" ] || fail "something was left behind"
}
case_report_beside_run() {
    local round code table
    exits 0 C run dermatology.csv --splits 4 --out R -q && cp -r R knee && cp -r R five &&
        exits 0 C run dermatology.csv --splits 4 --stop 5 --out five -q || return
    for round in 1 2 3 4 5; do
        code=0
        timeout 120 "$program" report R -q >/dev/null 2>>errors & local report=$!
        timeout 120 "$program" run dermatology.csv --splits 4 --stop 5 --out R -q >/dev/null 2>>errors || code=$?
        wait "$report" || code=$?
        [ "$code" = 0 ] || { cat errors >err; fail "one of them ended with $code"; return; }
        # Each table is the one or the other's, whole.
        for table in predictions.csv metrics.csv trace.csv; do
            cmp -s R/$table knee/$table || cmp -s R/$table five/$table || fail "$table is neither's" || return
        done
    done
}

# A power cut: names are safe once their directory is synced.
traced() {
    command -v strace >/dev/null && command -v python3 >/dev/null || { skip "it needs strace and Python"; return; }
    strace -o /dev/null true 2>/dev/null || { skip "strace may not trace here"; return; }
    LIMIT=300 timeout -k 5 300 strace -f -qq -y -o calls -e trace=openat,mkdirat,renameat,renameat2,fsync "$program" "$@" </dev/null >out 2>err ||
        fail "exit $? under strace: $*"
}
# synced DIRECTORY…: what was created, renamed or deleted in each was followed by a sync of it.
synced() {
    python3 - "$@" <<'END'
import os, re, sys
lines = open("calls", errors="replace").read().splitlines()
for directory in map(os.path.realpath, sys.argv[1:]):
    here = re.escape(f"<{directory}>")
    made, syncs = [], []
    for at, line in enumerate(lines):
        if "resumed>" in line or re.search(r"= -1 E", line): continue
        renamed = re.search(rf"renameat2?\(\d+{here}, \"[^\"]*\", \d+{here}, \"([^\"]*)\"", line)
        created = re.search(rf"openat\(\d+{here}, \"([^\"]*)\", [A-Z_|]*O_EXCL", line)
        if renamed: made.append((at, renamed[1]))
        if created and not created[1].endswith(".part") and not created[1].startswith(".lock"): made.append((at, created[1]))
        if re.search(rf"fsync\(\d+{here}", line): syncs.append(at)
    if not made: sys.exit(f"nothing was written into {directory}")
    for at, name in made:
        if not any(sync > at for sync in syncs): sys.exit(f"{directory} was not synced after {name}")
END
    local code=$?
    [ $code = 0 ] || fail "not synced: $*"
}
case_directories_of_a_run_are_synced() {
    traced run heart.csv --splits 2 --out R -q && synced R R/figures || return
    traced report R -q && synced R R/figures
}
case_directories_of_scripts_and_models_are_synced() {
    traced slurm heart.csv --splits 4 --tasks 2 --out R && synced R && mkdir M || return
    traced fit heart.csv --splits 2 --model M/M.json && synced M || return
    traced predict M/M.json heart.csv --out M/new.csv && synced M
}

# Settings of the last start.
case_settings_of_a_start_with_nothing_to_compute() {
    small_run && exits 0 C run heart.csv --splits 2 --stop 2 --out R -q && cp R/selected.txt two && [ "$(wc -l <two)" = 2 ] || return
    exits 0 C report R -q && cmp two R/selected.txt || fail "report forgot --stop 2"
}
case_settings_of_a_start_whose_clock_was_behind() {
    small_run && mv R/journal-* R/journal-1of1-ffffffffffffffff-1.jsonl || return
    exits 0 C run heart.csv --splits 2 --stop 2 --out R -q && exits 0 C report R -q && [ "$(wc -l <R/selected.txt)" = 2 ]
}

# --force.
case_force_on_the_input() {
    mkdir p && cp heart.csv p/metrics.csv && cd p && touch err || return
    exits 5 C run metrics.csv --splits 1 --out . && exits 5 C run metrics.csv --splits 1 --out . --force && cmp metrics.csv ../heart.csv
}
case_force_on_the_input_of_an_earlier_run() {
    small_run && cp heart.csv R/metrics.csv || return
    exits 5 C run R/metrics.csv --splits 1 --out R --force && says "this file is read and would be overwritten" && cmp heart.csv R/metrics.csv || return
    ln heart.csv R/trace.csv.gz && exits 5 C run heart.csv --splits 1 --out R --force && cmp heart.csv dermatology.csv >/dev/null
    [ -s heart.csv ]
}
case_force_on_files_that_were_never_ours() {
    mkdir p && echo precious >p/summary.txt && echo precious >p/report.html || return
    exits 5 C run heart.csv --splits 1 --out p --force && says "crfe-tui did not write" && holds precious p/summary.txt && holds precious p/report.html
}
case_force_on_a_run_of_ours() {
    small_run && echo precious >R/notes.txt || return
    exits 0 C run heart.csv --splits 1 --lambda 0.3 --out R -q --force && holds precious R/notes.txt && rm R/journal-* || return
    exits 5 C run heart.csv --splits 1 --out R -q && exits 0 C run heart.csv --splits 1 --out R -q --force
}

# What is read, or is somebody else's, is never replaced.
small_model() { exits 0 C fit heart.csv --splits 1 --stop 3 --model M.json -q; }
refused_unchanged() { local wanted=$1 file=$2; shift 2; exits "$wanted" C "$@" && cmp "$file" before || fail "$file was changed: $*"; }
case_inputs_under_force() {
    small_run && cp heart.csv before && cp heart.csv R/effects.csv || return
    refused_unchanged 5 R/effects.csv run dermatology.csv --pheno R/effects.csv --out R --force || return
    "$program" run - --out R --force <R/effects.csv >out 2>err
    [ $? = 5 ] && cmp R/effects.csv before || fail "standard input was overwritten" || return
    : >empty.toml && cp empty.toml before && ln empty.toml R/trace.csv.gz || return
    CRFE_CONFIG=empty.toml refused_unchanged 5 empty.toml run heart.csv --out R --force
}
case_inputs_of_a_model() {
    small_model && cp heart.csv before || return
    refused_unchanged 5 heart.csv fit heart.csv --model heart.csv --force || return
    refused_unchanged 5 heart.csv predict M.json heart.csv --out heart.csv --force || return
    "$program" predict M.json - --out heart.csv --force <heart.csv >out 2>err
    [ $? = 5 ] && cmp heart.csv before || fail "standard input was overwritten" || return
    cp M.json before && refused_unchanged 5 M.json predict M.json heart.csv --out M.json --force
}
case_predictions_over_a_file_of_ones_own() {
    small_model && cp dermatology.csv before || return
    refused_unchanged 6 dermatology.csv predict M.json heart.csv --out dermatology.csv && says "does not hold predictions" || return
    exits 0 C predict M.json heart.csv --out p && exits 0 C predict M.json heart.csv --out p --json && exits 0 C predict M.json heart.csv --out p &&
        head -n 1 p | grep -q '^id,predicted,set,' && exits 0 C predict M.json heart.csv --out dermatology.csv --force
}
case_predictions_through_pipes_and_links() {
    small_model && exits 0 C predict M.json heart.csv --out whole.csv && mkfifo pipe && ln -s linked.csv link && : >linked.csv || return
    timeout 60 cat pipe >got & local reader=$!
    exits 0 C predict M.json heart.csv --out pipe && wait $reader && [ -p pipe ] && cmp got whole.csv || fail "not written through the pipe" || return
    timeout 60 cat pipe >got & reader=$!
    exits 0 C fit heart.csv --splits 1 --stop 3 --model pipe -q && wait $reader && [ -p pipe ] && cmp got M.json || fail "not written through the pipe" || return
    timeout 60 "$program" predict M.json heart.csv --out /dev/stdout -q </dev/null | cat >got
    cmp got whole.csv || fail "not written to standard output" || return
    exits 0 C predict M.json heart.csv --out link && [ -L link ] && cmp linked.csv whole.csv || fail "the link was replaced"
}
case_partial_report_over_a_complete_one() {
    local i
    for i in 1 2 3; do exits 0 C run heart.csv --splits 3 --out P$i --shard $i/3 -q || return; done
    exits 4 C report P2 P3 --out ALL -q && exits 0 C report P1 P2 P3 --out ALL -q && cp -r ALL alone || return
    exits 5 C report P2 P3 --out ALL -q && says "cover tasks that are missing here" && diff -r ALL alone >&2
}
# The step that gathers shards, as the workflows of examples/ have it, killed and repeated.
case_killed_report_of_shards() {
    local i shards="shards/1of3 shards/2of3 shards/3of3"
    for i in 1 2 3; do exits 0 C run heart.csv --splits 2 --out shards/${i}of3 --shard $i/3 --quiet || return; done
    exits 0 C report $shards --data heart.csv --quiet --out alone || return
    local begun=$(date +%s%N)
    exits 0 C report $shards --data heart.csv --quiet --out again || return
    local whole=$(($(date +%s%N) - begun)) killed=0
    for i in $(seq 40); do
        rm -rf RUN
        { timeout -s KILL "$(awk -v ns=$whole -v r=$RANDOM 'BEGIN{print ns / 1e9 * r / 32768}')" \
            "$program" report $shards --data heart.csv --quiet --out RUN </dev/null >out 2>&1; } 2>err || killed=$((killed + 1))
        # Snakemake removes the outputs of a rule that failed.
        [ $((i % 2)) = 0 ] || rm -f RUN/report.html RUN/summary.json RUN/summary.txt RUN/selected.txt RUN/crfe_mqc.json
        exits 0 C report $shards --data heart.csv --quiet --out RUN || return
        diff -r RUN alone >&2 || fail "other files after kill $i" || return
        [ -z "$(find RUN -name '*.part')" ] || fail "something was left behind" || return
    done
    [ $killed -gt 20 ] || fail "only $killed of 40 were killed in time"
}

# Data of patients are their owner's alone.
mode() { stat -c %a "$1"; }
has_mode() { [ "$(mode "$2")" = "$1" ] || fail "$2 has mode $(mode "$2") instead of $1"; }
case_private_files() {
    umask 022
    small_run && small_model && exits 0 C predict M.json heart.csv --out p.csv || return
    local file
    for file in R/predictions.csv R/journal-* M.json p.csv; do has_mode 600 "$file" || return; done
    has_mode 644 R/metrics.csv && chmod 640 R/predictions.csv M.json && chmod 604 p.csv && chmod 600 R/metrics.csv || return
    exits 0 C report R -q && small_model && exits 0 C predict M.json heart.csv --out p.csv || return
    has_mode 640 R/predictions.csv && has_mode 640 M.json && has_mode 604 p.csv && has_mode 600 R/metrics.csv
}
case_files_of_a_group() {
    umask 022
    mkdir R && chmod 2770 R && small_run && has_mode 640 R/predictions.csv && has_mode 640 R/journal-* || return
    [ "$(id -u)" = 0 ] || { skip "only root may give a journal to somebody else"; return; }
    mkdir S && chmod 775 S && exits 0 C run heart.csv --splits 2 --out S --shard 1/2 -q && has_mode 600 S/journal-* || return
    chown 65534 S/journal-* && exits 0 C run heart.csv --splits 2 --out S --shard 2/2 -q && has_mode 640 S/journal-2of2-*
}
parts() { find . -name '.p.csv.*.part' | wc -l; }
# A prediction that waits for its rows in the middle.
waiting_prediction() {
    rm -f rows && mkfifo rows && { "$program" predict M.json - --out p.csv <rows >out 2>err & pid=$!; } && exec 7>rows && cat heart.csv >&7 || return
    local i
    for i in $(seq 600); do [ "$(parts)" -ge "$1" ] && return; sleep 0.05; done
    fail "it did not begin"
}
case_killed_prediction() {
    local pid first
    small_model && waiting_prediction 1 && first=$pid || return
    # A prediction beside it leaves it alone.
    exits 0 C predict M.json heart.csv --out p.csv && [ "$(parts)" = 1 ] || fail "the part of another process was removed" || return
    kill -KILL $first; wait $first 2>/dev/null; exec 7>&-
    exits 0 C predict M.json heart.csv --out p.csv && [ "$(parts)" = 0 ] || fail "the part is left" || return
    waiting_prediction 1 || return
    kill -TERM $pid; wait $pid; local code=$?; exec 7>&-
    [ $code = 143 ] && [ "$(parts)" = 0 ] || fail "exit $code, and $(parts) parts are left"
}
case_no_thread() {
    [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { skip "it needs root and setpriv"; return; }
    chmod 755 "$work" . && cp "$program" program && chmod 644 heart.csv || return
    (ulimit -u 1; exec setpriv --reuid=65533 --regid=65533 --clear-groups ./program run heart.csv --splits 1 -q >out 2>err)
    local code=$?
    [ $code = 1 ] && says "no thread can be started" && ! grep -q panicked err || fail "exit $code"
}
case_limit_of_the_size_of_files() {
    (ulimit -f 10; exits 6 C run dermatology.csv --splits 2 --out R -q && says "File too large")
}
case_closed_standard_output() {
    small_model || return
    timeout 60 "$program" predict M.json heart.csv >&- 2>err
    local code=$?
    [ $code = 6 ] && says "standard output is closed" && timeout 60 "$program" predict M.json heart.csv >/dev/null 2>err || fail "exit $code"
}

# Two shards with other settings in an empty directory: one wins, and can go on.
case_shards_with_other_settings_at_once() {
    local round first second
    for round in 1 2 3 4 5 6 7 8; do
        rm -rf R
        timeout 60 "$program" run heart.csv --splits 2 --shard 1/2 --out R -q >/dev/null 2>&1 & local one=$!
        timeout 60 "$program" run heart.csv --splits 2 --shard 2/2 --lambda 0.3 --out R -q >/dev/null 2>err & local two=$!
        wait $one; first=$?; wait $two; second=$?
        case "$first $second" in
            "0 5") exits 0 C run heart.csv --splits 2 --shard 2/2 --out R -q || return ;;
            "5 0") exits 0 C run heart.csv --splits 2 --shard 1/2 --lambda 0.3 --out R -q || return ;;
            *) fail "they ended with $first and $second"; return ;;
        esac
        exits 0 C report R -q || return
    done
}

# Journals that somebody made up.
first_line() { sed -i "1s$1" R/journal-*; }
case_journal_with_tasks_of_a_foreign_method() {
    small_run && first_line '/"methods":\["crfe","rfe"\]/"methods":["crfe"]/' && exits 0 C report R -q && says "not understood" &&
        ! grep -q "18446744073709551614" err
}
case_journal_whose_splits_are_a_device() { small_run && first_line '|"splits_from":null|"splits_from":"/dev/zero"|' && exits 0 C report R -q && says "not a regular file"; }
case_journal_whose_splits_are_a_pipe() { small_run && mkfifo pipe && first_line "|\"splits_from\":null|\"splits_from\":\"$PWD/pipe\"|" && exits 0 C report R -q && says "not a regular file"; }
case_journal_whose_table_is_a_device() { small_run && first_line '|"input":"heart.csv"|"input":"/dev/zero"|' && exits 0 C report R -q && says "not a regular file"; }
case_journal_whose_table_is_a_file_of_the_kernel() { small_run && first_line '|"input":"heart.csv"|"input":"/proc/kmsg"|' && exits 0 C report R -q && says "not a regular file"; }
case_journal_whose_table_is_standard_input() {
    small_run && first_line '|"input":"heart.csv","directory":"[^"]*"|"input":"-"|' || return
    # Standard input never ends: nobody may wait for it.
    mkfifo never && timeout 30 "$program" report R -q <>never >out 2>err
    local code=$?
    [ $code = 0 ] || fail "exit $code"
}
case_journal_with_a_label_of_megabytes() {
    small_run && python3 - R/journal-* <<'END' || return
import sys
lines = open(sys.argv[1]).read().split("\n", 1)
lines[0] = lines[0].replace('"classes":["', '"classes":["' + "a" * (10 << 20), 1)
open(sys.argv[1], "w").write("\n".join(lines))
END
    (ulimit -v 2000000; exits 5 C report R -q && says "label that is too long")
}
case_table_with_a_label_of_megabytes() {
    awk 'BEGIN{for(i=0;i<20000;i++) long=long "abcde"; print "f,class"; for(i=0;i<40;i++) print (i*37%11) "," (i%2?"b":long)}' >t.csv
    exits 3 C run t.csv --splits 1 -q && says "free text"
}

# Configuration and state.
case_configuration_in_a_pipe() { mkfifo pipe && CRFE_CONFIG=$PWD/pipe exits 2 C check heart.csv && says "not a regular file"; }
case_no_configuration() { CRFE_CONFIG=/dev/null exits 0 C check heart.csv; }

# A dashboard in a terminal of its own; the rest of the arguments is a Python program that has `master` and `pid`.
in_terminal() {
    command -v python3 >/dev/null || { skip "it needs Python for a terminal"; return; }
    local script=$1; shift
    timeout -k 5 60 python3 - "$script" "$program" "$@" <<'END'
import fcntl, os, pty, select, signal, struct, sys, termios, time
script, program, *arguments = sys.argv[1:]
pid, master = pty.fork()
if pid == 0:
    os.environ["TERM"] = os.environ.get("TRY_TERM", "xterm-256color")
    os.execv(program, [program] + arguments)
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
def read_until(word, seconds=30):
    seen, end = b"", time.monotonic() + seconds
    while word not in seen:
        ready, _, _ = select.select([master], [], [], max(0.0, end - time.monotonic()))
        if not ready: sys.exit(f"{word} did not appear")
        try: seen += os.read(master, 65536)
        except OSError: sys.exit(f"it ended before {word}: {seen[-300:]}")
    return seen
def code(seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
    sys.exit("it does not end")
exec(script)
END
}
case_private_state_directory() {
    in_terminal $'import glob\nread_until(b"Explore")\nwhile not glob.glob(os.environ["XDG_STATE_HOME"] + "/crfe-tui/*/journal-*"): time.sleep(0.02)\nos.write(master, b"qq")\nsys.exit(code())' heart.csv --splits 2 || return
    [ -z "$(find "$XDG_STATE_HOME/crfe-tui" -perm /077)" ] || fail "others may read $(find "$XDG_STATE_HOME/crfe-tui" -perm /077 | head -n 1)"
}
case_export_over_somebody_elses_page() {
    mkdir out && echo precious >out/report.html || return
    in_terminal $'read_until(b"did not write"); os.write(master, b"qqq"); code()' heart.csv --splits 2 --out out
    local code=$?
    [ $code = 0 ] && holds precious out/report.html || return $code
}
case_table_from_the_keyboard() {
    in_terminal $'os.write(master, b"a,b\\n"); sys.exit(0 if code() == 2 else 1)' - || fail "the keyboard was read as a table"
}
case_terminal_that_is_closed() {
    in_terminal $'read_until(b"Explore"); os.close(master); got = code(); sys.exit(0 if got in (129, -1) else f"exit {got}")' heart.csv --splits 2
}
case_terminal_that_is_not_read() {
    in_terminal $'read_until(b"Explore"); [os.write(master, b"12345?") for _ in range(200)]; time.sleep(1); os.kill(pid, 15); got = code(); sys.exit(0 if got in (143, -15) else f"exit {got}")' dermatology.csv
}
case_terminal_that_only_prints() {
    TRY_TERM=dumb in_terminal $'seen = read_until(b"Finished"); os.write(master, b"qq"); code(); sys.exit(f"escapes: {seen}" if b"\x1b" in seen else 0)' heart.csv --splits 1
}

# Runs that would never end.
case_model_that_overflows() { local cost; for cost in 1e12 1e14; do LIMIT=120 C run dermatology.csv --splits 1 --cost $cost -q; [ $? != 124 ] || fail "cost $cost never ends" || return; done; }
case_column_that_underflows() {
    awk 'BEGIN{print "p,a,class"; for(i=0;i<60;i++) print (i==7?"0.5":(i%3?"0":"1e-310")) "," (i*37%11) ",c" i%2}' >t.csv
    C run t.csv -q; [ $? != 124 ] || fail "it never ends"
}
case_largest_number_as_sentinel() {
    awk 'BEGIN{print "a,b,class"; for(i=0;i<60;i++) print (i%9==4?"1.7976931348623157e308":(i%9==5?"-1.7976931348623157e308":i*37%11)) "," (i*29%13) ",c" i%2}' >t.csv
    C run t.csv -q; [ $? != 124 ] || fail "it never ends"
}
case_smallest_table_that_never_ended() {
    printf 'f1,y\n0,0\n1,c2\n-0.0,c1\n1,c2\n1e-308,0\n1,c1\n5e-324,c2\n0,0\n-0.0,c1\n' >t.csv
    C run t.csv --calibration=shared --splits 2 -q; [ $? != 124 ] || fail "it never ends"
}

# Limits of memory: a sentence, not an abort.
case_table_larger_than_the_memory_it_may_have() {
    { echo a,b,class; yes $'1,2,c1\n1,2,c2' | head -n 40000000; } | gzip -1 >b.csv.gz
    (ulimit -v 900000; LIMIT=300 C check b.csv.gz; [ $? = 3 ] || fail "exit $?")
}
case_predictions_larger_than_the_memory_it_may_have() {
    awk 'BEGIN{print "f,class"; for(i=0;i<30000;i++) print (i*37%11) ",c" i%2}' >t.csv
    LIMIT=300 exits 0 C run t.csv --splits 60 --method rfe --out R -q || return
    (ulimit -v 400000; LIMIT=300 exits 0 C report R -q)
}

# Words of somebody else on a terminal.
case_escapes_in_file_names() {
    local name=$'b\e]52;c;aGk=\a'
    touch "$name" && ! C report "$name" "$name" && ! C run "$name" --nonsense && ! grep -q $'\e]52' err || fail "an escape was printed"
}
case_escapes_in_ids_of_predictions() {
    awk -v OFS=, 'NR==1{print "name", $0} NR>1{print "\033]52;c;aGk=\a" NR, $0}' heart.csv >ids.csv
    exits 0 C fit ids.csv --splits 1 --stop 3 --id-col name --model M.json -q || return
    head -n 5 ids.csv >few.csv
    in_terminal $'seen = read_until(b"u{1b}]52"); sys.exit("an escape was printed" if b"\x1b]52" in seen else code())' predict M.json few.csv -q
}
case_escapes_in_the_output_directory() {
    exits 0 C slurm heart.csv --tasks 2 --out $'d\e]52;c;aGk=\a' && ! grep -q $'\e' out err || fail "an escape was printed"
}

cases=$(declare -F | sed -n 's/^declare -f case_//p')
for name in ${only[@]:-$cases}; do
    mkdir "$work/$name" && cp ./*.csv "$work/$name" && cd "$work/$name" || exit 1
    "case_$name"
    code=$?
    case $code in
        0) passed=$((passed + 1)); echo "ok      $name ($SECONDS s)" ;;
        77) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)); echo "FAILED: $name" >&2 ;;
    esac
    cd "$work" && rm -rf "${work:?}/$name"
done
echo "hostile: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
