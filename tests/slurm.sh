#!/bin/bash
# The generated scripts on a real Slurm: a controller and four nodes on loopback, one of which is killed in mid-run.
# The merged tables must be those of a single machine, byte for byte.
# Usage: tests/slurm.sh [PROGRAM]; last line: slurm: P passed, F failed, S skipped
set -u
# Paths alone: folds and permutations have tests of their own, and would make every run many times longer.
export CRFE_VALIDATE=none CRFE_PERMUTATIONS=none

here=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$here/target/debug/crfe-tui}
work=$(mktemp -d)
pids=()

verdict() {
    echo "slurm: $1 passed, $2 failed, $3 skipped"
    [ "$2" = 0 ]
    exit
}
skip() {
    echo "SKIPPED: the Slurm test cannot run here: $1" >&2
    verdict 0 0 1
}
fail() {
    echo "FAILED: $1" >&2
    if command -v squeue >/dev/null; then squeue -a 2>&1; sinfo -N 2>&1; fi >&2
    tail -n 8 "$work"/*.log "$work"/run/*.log >&2 2>/dev/null
    verdict 0 1 0
}
cleanup() {
    # Only what was started here, the last first; jobs end with their nodes.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[i]}" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

# until SECONDS COMMAND…: polls.
until_true() {
    local deadline=$((SECONDS + $1)); shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.3
    done
}

[ -x "$program" ] || fail "there is no program $program; build it first"
[ "$(id -u)" = 0 ] || skip "it needs root to start a cluster"
if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v sbatch >/dev/null; then
    packages="slurmctld slurmd slurm-client munge util-linux procps"
    [ "${CI-}" = true ] || skip "install Slurm (Debian: $packages), or let CI=true install it"
    command -v apt-get >/dev/null || skip "Slurm is not installed and there is no apt-get"
    export DEBIAN_FRONTEND=noninteractive
    # Services must not start: there is no systemd, and the cluster has a configuration of its own.
    # shellcheck disable=SC2086 # the packages are words
    install() { apt-get install -y --no-install-recommends $packages; }
    { install || { apt-get update && install; }; } >"$work/apt.log" 2>&1 || {
        tail -n 3 "$work/apt.log" >&2
        skip "Debian's Slurm cannot be installed"
    }
fi

host=$(hostname -s)
conf=$work/slurm.conf
mkdir -p "$work/state" "$work/munge"
cat >"$conf" <<EOF
ClusterName=crfe
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17810
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
SlurmUser=root
StateSaveLocation=$work/state
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmdSpoolDir=$work/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
KillWait=5
MpiDefault=none
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17820-17823] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$work/cgroup.conf"
export SLURM_CONF=$conf
chmod 755 "$work"

# A key and a socket of our own, so that an installed munge is left alone.
dd if=/dev/urandom of="$work/munge/key" bs=1 count=1024 2>/dev/null
chmod 400 "$work/munge/key"
chown -R munge: "$work/munge" || skip "there is no user munge"
chmod 755 "$work/munge"
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --key-file="$work/munge/key" \
    --socket="$work/munge/socket" --pid-file="$work/munge/pid" --log-file="$work/munge/log" \
    --seed-file="$work/munge/seed" >"$work/munged.log" 2>&1 &
pids+=($!)
until_true 20 test -S "$work/munge/socket" || skip "munged does not start"
slurmctld -D -f "$conf" >"$work/slurmctld.log" 2>&1 &
pids+=($!)
declare -A node
for n in n1 n2 n3 n4; do
    mkdir -p "$work/spool-$n"
    slurmd -D -N "$n" -f "$conf" >"$work/slurmd-$n.log" 2>&1 &
    pids+=($!)
    node[$n]=$!
done
idle() { [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c '^idle')" = 4 ]; }
until_true 40 idle || skip "the nodes do not come up"
echo "four nodes are idle after $SECONDS s"

# A run that takes some seconds on each node, however fast the machine is.
cd "$here" || exit 1
splits=200
took=0
while [ "$took" -lt 8 ] && [ "$splits" -lt 5000 ]; do
    splits=$((2 * splits))
    options=(data/dermatology.csv --splits "$splits")
    rm -rf "$work/single"
    begin=$SECONDS
    "$program" run "${options[@]}" --out "$work/single" --quiet >/dev/null || fail "the run on a single machine"
    took=$((SECONDS - begin))
done
echo "the single machine is done after $SECONDS s"
"$program" cluster "${options[@]}" --tasks 4 --out "$work/run" >"$work/said" || fail "crfe-tui cluster"
submit=$(sed -n 's/^  \(sbatch .*\)/\1/p' "$work/said")
echo "$submit"
bash -c "$submit" >"$work/submit.log" 2>&1 || fail "sbatch refused the scripts"

# When every shard has begun, a node dies: its daemon and everything it started.
begun() { [ "$(ls "$work"/run/journal-*of4-*.jsonl 2>/dev/null | wc -l)" -ge 4 ]; }
until_true 40 begun || fail "not every shard began"
running=$(squeue -h -t R -o '%N %K' | awk '$1=="n2"{print $2; exit}')
[ -n "$running" ] || fail "n2 runs nothing: the run is too short to kill a node in"
# A daemon of Slurm watches each job and would report its death: on a node that is gone it is gone too.
shard=$(pgrep -f -- "--out=$work/run --shard=$running/4")
[ -n "$shard" ] || fail "the shard on n2 was already done: the run is too short to kill a node in"
watcher=$(ps -o ppid= -p "$shard")
kill -9 "${node[n2]}" $watcher "$shard"
scontrol update nodename=n2 state=down reason=test || fail "scontrol"
echo "node n2 with shard $running was killed after $SECONDS s; journals: $(cat "$work"/run/journal-* | wc -c) bytes"
requeued() { [ -n "$(squeue -h -r -o '%K %t' | awk -v k="$running" '$1==k && $2=="PD"')" ]; }
until_true 20 requeued || fail "the shard of the dead node was not requeued"
# A requeued task waits two minutes by default: not here.
array=$(squeue -h -r -o '%F %K' | awk -v k="$running" '$2==k{print $1; exit}')
scontrol update jobid="${array}_$running" StartTime=now >/dev/null 2>&1

empty() {
    scontrol update jobid="${array}_$running" StartTime=now >/dev/null 2>&1
    [ -z "$(squeue -h)" ]
}
until_true 120 empty || fail "the jobs do not end"
echo "all jobs have ended after $SECONDS s"

[ "$(ls "$work"/run/journal-"$running"of4-*.jsonl* | wc -l)" -ge 2 ] || fail "the killed shard was not taken up again"
compared=0
for table in "$work"/single/*.csv* "$work"/single/*.json "$work"/single/*.txt; do
    cmp "$table" "$work/run/$(basename "$table")" || fail "$(basename "$table") differs from the single machine's"
    compared=$((compared + 1))
done
[ "$compared" -ge 14 ] || fail "only $compared tables were compared"
echo "$compared tables are identical"
verdict 1 0 0
