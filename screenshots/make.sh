#!/usr/bin/env bash
# Pictures of the dashboard, taken of a real terminal: one PNG per view, and a GIF of stepping.
#
#   cargo build --release && screenshots/make.sh [PROGRAM]
#
# Needs: python3 xvfb xauth xdotool imagemagick alacritty libgl1-mesa-dri fonts-jetbrains-mono fonts-dejavu-core
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-target/release/crfe-tui}")
here=$PWD/screenshots
scratch=$(mktemp -d)
trap 'kill $alacritty $xvfb 2>/dev/null || true; rm -rf "$scratch"' EXIT

# Alacritty 0.11, as in Debian 12, reads YAML.
cat >"$scratch/alacritty.yml" <<'YAML'
window:
  dimensions: { columns: 140, lines: 40 }
  padding: { x: 6, y: 6 }
  decorations: none
font:
  size: 8.5
  normal: { family: JetBrains Mono }
colors:
  primary: { background: "#16181d", foreground: "#d8dce4" }
YAML

Xvfb -displayfd 3 -screen 0 1600x1200x24 3>"$scratch/display" >/dev/null 2>&1 &
xvfb=$!
until [ -s "$scratch/display" ]; do sleep 0.1; done
export DISPLAY=:$(cat "$scratch/display") LIBGL_ALWAYS_SOFTWARE=1 COLORTERM=truecolor
unset NO_COLOR SSH_CONNECTION SSH_TTY

# Paths on the screen are relative.
mkdir "$scratch/data"
cp data/dermatology.csv "$scratch/data"
cd "$scratch"

# A finished run, tested and compared with chance.
"$program" run data/dermatology.csv --out RUN --quiet >/dev/null

# The same of a table with 500 features, of which 12 tell the classes apart and 12 more are their twins.
python3 - data/genes.csv <<'PY'
import random, sys

random.seed(7)
tissues = [("colon", "kidney", "liver")[row % 3] for row in range(150)]
columns = []
for column in range(500):
    if column % 42 == 3:
        means = {tissue: random.gauss(0, 1.2) for tissue in ("colon", "kidney", "liver")}
        columns.append([random.gauss(means[tissue], 1) for tissue in tissues])
    elif column % 42 == 4:
        columns.append([value + random.gauss(0, 0.3) for value in columns[-1]])
    else:
        columns.append([random.gauss(0, 1) for _ in tissues])
with open(sys.argv[1], "w") as file:
    print(*(f"GENE{column:03}" for column in range(1, 501)), "tissue", sep=",", file=file)
    for row, tissue in enumerate(tissues):
        print(*(f"{column[row]:.3f}" for column in columns), tissue, sep=",", file=file)
PY
"$program" run data/genes.csv --out WIDE --quiet >/dev/null

# open RUN [OPTIONS]
open() {
    env HOME="$scratch" alacritty --config-file "$scratch/alacritty.yml" --command "$program" open "$1" "${@:2}" \
        >/dev/null 2>&1 &
    alacritty=$!
    window=$(timeout 60 xdotool search --sync --onlyvisible --pid $alacritty | tail -1)
}

# Two captures in a row that are equal: nothing moves any more.
still() {
    local before= now
    for _ in $(seq 120); do
        import -window "$window" "$scratch/now.png"
        now=$(identify -format '%#' "$scratch/now.png")
        [ "$now" = "$before" ] && return
        before=$now
        sleep 0.4
    done
    echo "the screen does not come to rest" >&2
    return 1
}

press() { xdotool key --window "$window" --delay 60 "$@" 2>/dev/null; }

shoot() {
    still
    convert "$scratch/now.png" -strip -colors 255 -define png:compression-level=9 "$here/$1.png"
}

open RUN --speed 240
still
shoot answer
press 2
still
# Ten features are left: the most there is to see.
press g 1 0 Return
shoot explore
press 3
shoot size
press 4
shoot stability
press 5
shoot data
press 2 slash s a w Return Return
shoot feature
press Escape d
shoot what-if
press q
wait $alacritty || true

open WIDE --speed 240
still
shoot wide-answer
press 3
shoot wide-size
press 4
shoot wide-stability
press q
wait $alacritty || true

# Stepping: the play is paused, one elimination per picture.
open RUN --speed 240 --view explore
still
press g 1 8 Return
still
for step in $(seq -w 0 9); do
    import -window "$window" "$scratch/step-$step.png"
    press l
    still
done
convert -delay 70 "$scratch"/step-*.png +dither -colors 32 -layers Optimize \
    "$here/stepping.gif"
press q
wait $alacritty || true
ls -l "$here"
