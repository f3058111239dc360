"""Linear machines, splines (rcs:4) and RBF kernel machines on the same tables: the size that CRFE chooses, and what its list achieves on rows that
it never saw (nested validation, five folds, which are the same for all). p compares the rows that one model predicts right and the other wrong
with those of the linear one (McNemar's exact test).

usage: compare.py PROGRAM [TABLE …]
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ESTIMATORS = ["linear", "rcs:4", "rbf"]
SPLITS, FOLDS, LIMIT = 10, 5, 900


def tables():
    """(name, file, options): the shipped tables, then those of tests/real that run."""
    for name in ("dermatology", "heart", "synthetic"):
        yield name, ROOT / "data" / f"{name}.csv", []
    for line in (ROOT / "tests/real/expected.txt").read_text().splitlines():
        if line.endswith("|runs"):
            name, options, _ = line.split("|")
            yield name, ROOT / "target/real/tables" / f"{name}.csv", options.split()


def run(program, path, options, estimator):
    """Size, sizes of the folds, right rows by row, labels in sets, covered rows; or why there is none."""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", path, "--quiet", "--method", "crfe", "--splits", str(SPLITS), "--validate", str(FOLDS)]
        command += ["--permutations", "none", "--estimator", estimator, "--out", f"{out}/RUN", *options]
        try:
            done = subprocess.run(list(map(str, command)), env={"HOME": "/nonexistent"}, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"more than {LIMIT // 60} minutes"
        if done.returncode == 2 and "takes too long" in done.stderr + done.stdout or "hours" in done.stderr:
            return "refused"
        if done.returncode != 0:
            sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr}")
        summary = json.loads(Path(f"{out}/RUN/summary.json").read_text())
        lines = [json.loads(line) for journal in Path(f"{out}/RUN").glob("journal-*.jsonl") for line in journal.read_text().splitlines()]
    folds = [line["outcome"]["fold"] for line in lines if "followup" in line]
    rows = {row["row"]: row for fold in folds for row in fold["rows"]}
    right = {at: row["f"].index(max(row["f"])) == row["y"] for at, row in rows.items()}
    labels = sum(p > 0.1 for row in rows.values() for p in row["p"])
    covered = sum(row["p"][row["y"]] > 0.1 for row in rows.values())
    return {"size": summary["methods"][0]["chosen"]["size"], "sizes": [len(fold["units"]) for fold in folds], "right": right, "labels": labels, "covered": covered, "summary": summary}


def mcnemar(ours, linear):
    """Two-sided exact p of the rows that one of two models predicts right."""
    both = set(ours) & set(linear)
    gained = sum(ours[row] and not linear[row] for row in both)
    lost = sum(linear[row] and not ours[row] for row in both)
    n, k = gained + lost, min(gained, lost)
    p = min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n) if n else 1.0
    return gained, lost, p


def main():
    program, *wanted = sys.argv[1:]
    head = ["table", "largest class"]
    for estimator in ESTIMATORS:
        head += [f"{estimator}: size", "in folds", "accuracy", "set size", "coverage"] + ([] if estimator == "linear" else ["rows gained, lost (p)"])
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    for name, path, options in tables():
        if not path.exists() or (wanted and name not in wanted):
            continue
        cells, linear, start = None, None, time.time()
        for estimator in ESTIMATORS:
            found = run(program, path, options, estimator)
            width = 5 if estimator == "linear" else 6
            if isinstance(found, str):
                cells += [found] + [""] * (width - 1)
                continue
            summary = found["summary"]
            if cells is None:
                cells = [f"{name} {summary['rows']} × {summary['features']}, {len(summary['classes'])} classes"]
                tested = summary["methods"][0]["tested"]
                cells.append(f"{tested['performance']['no_information_rate']:.3f}" if tested and tested["performance"] else "")
                linear = found["right"]
            n = len(found["right"])
            if n == 0:
                cells += [found["size"] if found["size"] is not None else "none", "not tested"] + [""] * (width - 2)
                continue
            cells += [found["size"], f"{min(found['sizes'])} to {max(found['sizes'])}", f"{sum(found['right'].values()) / n:.3f}"]
            cells += [f"{found['labels'] / n:.2f}", f"{found['covered'] / n:.3f}"]
            if estimator != "linear":
                gained, lost, p = mcnemar(found["right"], linear)
                cells.append(f"{gained}, {lost} ({'< 0.01' if p < 0.005 else f'{p:.2f}'})")
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        print(f"{name}: {time.time() - start:.0f} s", file=sys.stderr, flush=True)


main()
