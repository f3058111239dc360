#!/bin/bash
# How processor time, bytes read and memory grow with the number of splits of heart: the run, its report, the same run again, and opening it.
# Usage: benches/splits.sh [PROGRAM [SPLITS…]]; all should grow linearly, and the report should take at most a third of the run.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$here/target/release/crfe-tui}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 1000 2000 4000 8000
# Paths alone: folds and permutations do not grow with the splits of a path.
export CRFE_VALIDATE=none CRFE_PERMUTATIONS=none
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 - "$program" "$here/data/heart.csv" "$scratch" "$@" <<'END'
import os, pty, select, sys, time
program, table, scratch, *splits = sys.argv[1:]
def used(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[11:13]
def measure(*arguments):
    """Seconds of processor time, megabytes read, megabytes at the peak; in a terminal that is left once nothing is computed."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(program, [program, *arguments])
    before, since = None, time.monotonic()
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        if select.select([master], [], [], 0.05)[0]:
            try: os.read(master, 1 << 16)
            except OSError: time.sleep(0.05)
        if used(pid) != before:
            before, since = used(pid), time.monotonic()
        elif arguments[0] == "open" and time.monotonic() - since > 2:
            os.write(master, b"q")
            since = time.monotonic()
    counts = dict(line.split(": ") for line in open(f"/proc/{pid}/io").read().splitlines())
    _, status, usage = os.wait4(pid, 0)
    os.close(master)
    assert status == 0, arguments
    return usage.ru_utime + usage.ru_stime, int(counts["rchar"]) / 1e6, usage.ru_maxrss / 1e3
print(f"{'splits':>8} {'':8} {'processor s':>12} {'read MB':>9} {'peak MB':>9}")
for count in splits:
    out = f"{scratch}/{count}"
    run = ["run", table, "--splits", count, "--out", out, "-q"]
    for name, arguments in [("run", run), ("report", ["report", out, "-q"]), ("resume", run), ("open", ["open", out, "--plain"])]:
        seconds, read, peak = measure(*arguments)
        print(f"{count:>8} {name:8} {seconds:12.2f} {read:9.1f} {peak:9.1f}", flush=True)
END
