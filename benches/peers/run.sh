#!/bin/sh
# Makes a venv with the peers, builds crfe-tui, and prints the table of ratios. Arguments: names of shapes (default: all), or
# the word growth for the table of how cost grows.
# LIMIT (seconds, default 60) is how long a peer's path may take before it is extrapolated; ROUNDS (default 3) is for medians.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${VENV:-$root/target/peers-venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import CRFE, sklearn' 2>/dev/null || "$venv/bin/pip" install --quiet 'CRFE==0.1.1' scikit-learn
cd "$root"
cargo build --release --quiet
export PATH_BENCH="$(cargo bench --bench timed_path --no-run 2>&1 | sed -n 's/.*(\(.*\)).*/\1/p' | tail -1)"
export CRFE_TUI="${CARGO_TARGET_DIR:-$root/target}/release/crfe-tui"
case $PATH_BENCH in /*) ;; *) PATH_BENCH="$root/$PATH_BENCH" ;; esac
[ "${1:-}" != growth ] || exec "$venv/bin/python" "$here/growth.py"
exec "$venv/bin/python" "$here/compare.py" "$@"
