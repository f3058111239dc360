"""Recomputes the answer of a run, its nested validation and its permutation control with numpy and scikit-learn, and compares.

Rows of folds, splits and permutations are derived from the seed (rows.py); everything else is computed from the table (procedure.py).
Sizes, lists, counts, p-values of rows and of the control must be the same; decision values may differ by F_TOLERANCE and rates by RATE_TOLERANCE.

usage: check.py PROGRAM TABLE [SPLITS FOLDS PERMUTATIONS [SEED]]
"""

import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, roc_auc_score

import rows
from procedure import EPSILON, Path as Elimination, answer, by_frequency, machines, p_values, prepare

F_TOLERANCE, RATE_TOLERANCE = 1e-8, 1e-12
METHODS = ["crfe", "rfe"]
MISSING = ("", "?", "NA")


class Table:
    """A table as section 1 encodes it: numbers as they are, two levels as one column, more as one column per level."""

    def __init__(self, path):
        header, *cells = list(csv.reader(open(path, newline="")))
        labels = [row[header.index("class")] for row in cells]
        self.labels = sorted(set(labels))
        self.y = [self.labels.index(label) for label in labels]
        self.classes, self.units, self.names, columns = len(self.labels), [], [], []
        for at, name in enumerate(header):
            if name == "class":
                continue
            values = [row[at] for row in cells]
            encoded = self.encode(values)
            self.names.append(name)
            self.units.append(list(range(len(columns), len(columns) + len(encoded))))
            columns += encoded
        self.x = np.array(columns, dtype=float).T

    @staticmethod
    def encode(values):
        try:
            return [[math.nan if value in MISSING else float(value) for value in values]]
        except ValueError:
            levels = sorted({value for value in values if value not in MISSING})
            levels = levels[1:] if len(levels) == 2 else levels
            cell = lambda value, level: math.nan if value in MISSING else float(value == level)
            return [[cell(value, level) for value in values] for level in levels]


class Check:
    """Counts what was compared and stops at the first difference."""

    def __init__(self):
        self.compared, self.largest = 0, {}

    def same(self, what, ours, theirs):
        self.compared += 1
        if ours != theirs:
            sys.exit(f"{what}: the program has {theirs}, scikit-learn {ours}")

    def close(self, what, ours, theirs, tolerance):
        ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
        self.same(f"{what}: how many", ours.shape, theirs.shape)
        off = float(np.abs(ours - theirs).max()) if ours.size else 0.0
        kind = what.split(":")[-1].strip()
        self.largest[kind] = max(off, self.largest.get(kind, 0.0))
        self.compared += ours.size
        if not off <= tolerance:
            sys.exit(f"{what}: off by {off}: the program has {theirs}, scikit-learn {ours}")


def run(program, path, splits, folds, permutations, seed):
    """What the program found: its summary, and what its journal holds of folds and permutations."""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", path, "--quiet", "--out", f"{out}/RUN", "--method", ",".join(METHODS), "--seed", str(seed)]
        command += ["--splits", str(splits), "--validate", str(folds), "--permutations", str(permutations)]
        done = subprocess.run(command, env={"HOME": "/nonexistent"}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        summary = json.loads(Path(f"{out}/RUN/summary.json").read_text())
        manifest = json.loads(Path(f"{out}/RUN/manifest.json").read_text())
        journals = Path(f"{out}/RUN").glob("journal-*.jsonl")
        lines = [json.loads(line) for journal in journals for line in journal.read_text().splitlines()]
        outcomes = {line["followup"]: next(iter(line["outcome"].values())) for line in lines if "followup" in line}
    return summary, manifest, outcomes


def fold(table, split, method, splits, seed):
    """The list of the procedure on the rest of the rows, and what its model predicts for the rows of the fold."""
    test, reserve, rest = split
    paths = [Elimination(table, table.y, rows.split(table.y, rest, seed, i), method) for i in range(splits)]
    size, order = answer(paths)
    units = [unit for unit, _ in order[:size]] if size else []
    columns = sorted(j for unit in units for j in table.units[unit])
    # With the columns of the list alone: a model for new rows knows no others.
    (x_rest, x_reserve, x_test), _ = prepare(table.x[:, columns], rest, [reserve, test])
    y = np.array(table.y)
    w, b = machines(x_rest, y[rest], table.classes)
    f = x_test @ w.T + b
    return size, units, f, p_values(x_reserve @ w.T + b, y[reserve], f)


def wilson(count, n):
    z = 1.959963984540054
    p, scale = count / n, 1 + z * z / n
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    centre = (p + z * z / (2 * n)) / scale
    return [max(0.0, centre - half), min(1.0, centre + half)]


def auc(y, f):
    """One class against the rest, mean over classes; values within half a step of 2⁻³² are tied."""
    f = np.round(f * 2.0**32)
    return float(np.mean([roc_auc_score(y == k, f[:, k]) for k in range(f.shape[1])]))


def stability(lists, units):
    """Nogueira's."""
    chosen = np.array([[unit in units_of for unit in range(units)] for units_of in lists], dtype=float)
    n, frequency, mean = len(lists), chosen.mean(axis=0), chosen.sum(axis=1).mean()
    return 1 - n / (n - 1) * np.mean(frequency * (1 - frequency)) / (mean / units * (1 - mean / units))


def tested(check, name, table, tests, f, p, found, lists):
    """The numbers that are reported for all rows."""
    y = np.array(table.y)[tests]
    predicted, sets = f.argmax(axis=1), p > EPSILON
    covered = sets[np.arange(len(y)), y]
    rate = lambda what, ours, theirs: check.close(f"{name}: {what}", ours, theirs, RATE_TOLERANCE)
    rate("accuracy", accuracy_score(y, predicted), found["accuracy"]["value"])
    rate("balanced accuracy", balanced_accuracy_score(y, predicted), found["balanced_accuracy"]["value"])
    rate("macro F1", f1_score(y, predicted, average="macro", zero_division=0), found["f1_macro"]["value"])
    rate("AUC", auc(y, f), found["auc"]["value"])
    rate("coverage", covered.mean(), found["coverage"]["value"])
    rate("set size", sets.sum(axis=1).mean(), found["set_size"]["value"])
    rate("empty sets", (sets.sum(axis=1) == 0).mean(), found["empty"]["value"])
    rate("no-information rate", np.bincount(y).max() / len(y), found["no_information_rate"])
    for key, count in [("accuracy", (predicted == y).sum()), ("coverage", covered.sum())]:
        rate(f"interval of {key}", wilson(count, len(y)), [found[key]["lo"], found[key]["hi"]])
    for of in found["classes"]:
        rate("coverage of a class", covered[y == of["class"]].mean(), of["coverage"]["value"])
        rate("set size of a class", sets[y == of["class"]].sum(axis=1).mean(), of["set_size"])


def check_method(check, table, method, summary, outcomes, splits, folds, permutations, seed):
    found = next(of for of in summary["methods"] if of["method"] == method)
    everything = list(range(len(table.y)))
    paths = [Elimination(table, table.y, rows.split(table.y, everything, seed, i), method) for i in range(splits)]
    size, order = answer(paths)
    check.same(f"{method}: size", size, found["chosen"]["size"])
    listed = [(table.names[unit], count) for unit, count in order[:size]]
    check.same(f"{method}: list", listed, [(of["name"], of["count"]) for of in found["features"]])

    pieces = []
    for index, split in enumerate(rows.outer_folds(table.y, folds, seed)):
        name, theirs = f"{method}, fold {index}", outcomes[f"fold/{method}/{index}"]
        check.same(f"{name}: rows", split[0], [row["row"] for row in theirs["rows"]])
        check.same(f"{name}: classes", [table.y[row] for row in split[0]], [row["y"] for row in theirs["rows"]])
        reserve = np.bincount(np.array(table.y)[split[1]], minlength=table.classes).tolist()
        check.same(f"{name}: calibration rows", reserve, theirs["conformal"])
        own, units, f, p = fold(table, split, method, splits, rows.inner_seed(seed, index, rows.VALIDATION))
        check.same(f"{name}: size", own, theirs["size"])
        check.same(f"{name}: list", units, theirs["units"])
        check.close(f"{name}: decision values", f, [row["f"] for row in theirs["rows"]], F_TOLERANCE)
        check.close(f"{name}: p-values", p, [row["p"] for row in theirs["rows"]], RATE_TOLERANCE)
        pieces.append((split[0], f, p, units))
    tests, f, p, lists = zip(*pieces)
    performance = found["tested"]["performance"]
    tested(check, method, table, np.concatenate(tests), np.vstack(f), np.vstack(p), performance, lists)
    agreement = found["tested"]["stability"]
    agreement = agreement[0] if isinstance(agreement, list) else agreement["value"]
    check.close(f"{method}: stability of lists", stability(lists, len(table.units)), agreement, 1e-9)

    largest, s_scores = [], []
    at = [s for s in range(1, len(table.units) + 1) if s <= 10 or s in steps_of_a_tenth(len(table.units))]
    for index in range(permutations):
        name, theirs = f"{method}, permutation {index}", outcomes[f"permutation/{method}/{index}"]
        y = rows.permuted(table.y, seed, index)
        inner = rows.inner_seed(seed, index, rows.PERMUTATION)
        control = [Elimination(table, y, rows.split(y, everything, inner, i), method, at) for i in range(splits)]
        counts = [by_frequency(control, s)[0][1] for s in range(1, len(table.units) + 1)]
        reached = [1 + next(i for i, count in enumerate(counts) if count >= c) for c in range(1, splits + 1)]
        check.same(f"{name}: sizes at which a count is reached", reached, theirs["reached"])
        s = {t: float(np.mean([path.s_score[t] for path in control])) for t in at}
        check.same(f"{name}: evaluated sizes", at, [t for t, _ in theirs["s_score"]])
        check.close(f"{name}: sums of p-values", list(s.values()), [v for _, v in theirs["s_score"]], RATE_TOLERANCE)
        largest.append(counts[size - 1])
        s_scores.append(s)
    if permutations == 0:
        return
    chance = next(v for v in sorted(largest) if sum(m <= v for m in largest) >= math.ceil(0.95 * permutations - 1e-9))
    check.same(f"{method}: count by chance", chance, found["by_chance"]["count"])
    # The data chose the size, so each permutation is judged at its own best size, as the real labels are.
    real = min(float(np.mean([path.s_score[t] for path in paths])) for t in at)
    smaller = sum(min(s.values()) <= real * (1 + RATE_TOLERANCE) for s in s_scores)
    check.close(f"{method}: p of the whole", (1 + smaller) / (permutations + 1), found["by_chance"]["p"], RATE_TOLERANCE)
    adjusted = [(1 + sum(m >= count for m in largest)) / (permutations + 1) for _, count in order[:size]]
    check.close(f"{method}: adjusted p", adjusted, [of["adjusted_p"] for of in found["features"]], RATE_TOLERANCE)


def steps_of_a_tenth(units):
    sizes, size = [], 1
    while size <= units:
        sizes.append(size)
        size += max(1, size // 10)
    return sizes


def main():
    program, path, *numbers = sys.argv[1:]
    splits, folds, permutations, seed = [*map(int, numbers), *[4, 3, 5, 0][len(numbers):]]
    begun = time.time()
    summary, manifest, outcomes = run(program, path, splits, folds, permutations, seed)
    table, check = Table(path), Check()
    check.same("features", table.names, [unit["name"] for unit in manifest["units"]])
    check.same("columns of features", list(map(len, table.units)), [len(unit["columns"]) for unit in manifest["units"]])
    check.same("classes", table.labels, summary["classes"])
    for method in METHODS:
        check_method(check, table, method, summary, outcomes, splits, folds, permutations, seed)
    print(f"{path}: {splits} splits, {folds} folds, {permutations} permutations, seed {seed}: {check.compared} numbers agree ({time.time() - begun:.0f} s)")
    print("  largest differences: " + ", ".join(f"{kind} {off:.1e}" for kind, off in check.largest.items() if off > 0))


main()
