#!/usr/bin/env bash
# The page of a run in headless Chromium (tests/report_page.mjs), and the scikit-learn script beside it.
# Usage: tests/report_page.sh PROGRAM [DIRECTORY FOR SCREENSHOTS]
# Steps whose tools (Chromium, node, scikit-learn) are missing print SKIPPED; with CI=true, root installs Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "$1")
shots=${2:-}
[ -z "$shots" ] || mkdir -p "$shots"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

env -i PATH="$PATH" HOME=/nonexistent "$program" run data/dermatology.csv --out "$scratch/RUN" --splits 5 --quiet >/dev/null

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$chromium" ] && [ "${CI-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null 2>&1 || true
    chromium=$(command -v chromium || true)
fi
if [ -z "$chromium" ] || ! command -v node >/dev/null; then
    echo "SKIPPED: report.html was not opened: install Chromium and node (Debian: chromium, nodejs)" >&2
else
    timeout 300 node tests/report_page.mjs "$chromium" "$scratch/RUN/report.html" ${shots:+"$shots"}
fi

python=${CRFE_PYTHON:-}
if [ -z "$python" ] && python3 -c 'import sklearn' 2>/dev/null; then
    python=python3
elif [ -z "$python" ] && python3 -m venv "$scratch/venv" 2>/dev/null && "$scratch/venv/bin/pip" install -q scikit-learn 2>/dev/null; then
    python=$scratch/venv/bin/python
fi
if [ -z "$python" ]; then
    echo "SKIPPED: the path was not repeated with scikit-learn, which cannot be installed here" >&2
else
    OMP_NUM_THREADS=1 "$python" "$scratch/RUN/reproduce.py" data/dermatology.csv
    "$python" tests/reproduce.py "$program"
fi
