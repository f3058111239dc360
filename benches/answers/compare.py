"""Tests the lists of crfe-tui's size rules and of scikit-learn's RFECV on the same outer folds.

For each fold RFECV gets the rows that crfe-tui's procedure gets, the rows that crfe-tui sets aside calibrate both, and both are tested on the rows
of the fold. Folds are derived from the seed by tests/independent/rows.py and compared with the journal.

usage: compare.py PROGRAM [TABLE …]
"""

import csv
import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.feature_selection import RFECV
from sklearn.impute import KNNImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "independent"))

import procedure  # noqa: E402
import rows  # noqa: E402

warnings.filterwarnings("ignore")
RULES = ["1se", "knee", "beta"]
FOLDS = 5
MISSING = ("", "?", ".", "na", "n/a", "nan", "null")
# RFECV removes a tenth of the columns at a time beyond WIDE, and is not run where it would take hours.
WIDE, LARGEST = 100, 500_000


def tables():
    """(name, file, options): the shipped tables, then those of tests/real that run."""
    for name in ("dermatology", "heart", "synthetic"):
        yield name, ROOT / "data" / f"{name}.csv", []
    for line in (ROOT / "tests/real/expected.txt").read_text().splitlines():
        if line.endswith("|runs"):
            name, options, _ = line.split("|")
            yield name, ROOT / "target/real/tables" / f"{name}.csv", options.split()


def run(program, path, options, rule):
    """What the run found with one rule, its manifest, and its folds."""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", path, "--quiet", "--method", "crfe", "--stop", rule, "--validate", str(FOLDS)]
        command += ["--permutations", "none", "--out", f"{out}/RUN", *options]
        done = subprocess.run(command, env={"HOME": "/nonexistent"}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr}")
        summary, manifest = (json.loads(Path(f"{out}/RUN/{name}").read_text()) for name in ("summary.json", "manifest.json"))
        journals = Path(f"{out}/RUN").glob("journal-*.jsonl")
        lines = [json.loads(line) for journal in journals for line in journal.read_text().splitlines()]
    folds = {line["followup"]: line["outcome"]["fold"] for line in lines if "followup" in line}
    return summary["methods"][0], manifest, folds


def encode(path, manifest, options):
    """The columns as crfe-tui names them: a number, or 0/1 for `column=level`; rows without a class are left out."""
    cells = [[cell.strip() for cell in row] for row in csv.reader(open(path, newline="", encoding="utf-8", errors="replace")) if row]
    header = [f"c{i + 1}" for i in range(len(cells[0]))] if "--no-header" in options else cells.pop(0)
    rare = options[options.index("--rare") + 1] if "--rare" in options else ""
    merged = rare.removeprefix("merge:").partition(":")[2] if rare.startswith("merge:") else None
    classes = [of["class"] for of in manifest["classes"]]
    labels = [row[header.index(manifest["target"])] for row in cells]
    labels = [merged if merged and label not in classes and label.lower() not in MISSING else label for label in labels]
    kept = [i for i, label in enumerate(labels) if label in classes]
    y = [classes.index(labels[i]) for i in kept]
    columns = []
    for name in (column for unit in manifest["units"] for column in unit["columns"]):
        level = None
        if name not in header:
            variable = max((h for h in header if name.startswith(h + "=")), key=len)
            name, level = variable, name[len(variable) + 1:]
        values = [cells[i][header.index(name)] for i in kept]
        value = (lambda cell: float(cell)) if level is None else (lambda cell: float(cell == level))
        columns.append([math.nan if cell.lower() in MISSING else value(cell) for cell in values])
    return np.array(columns).T, y, len(classes)


def rfecv(x, y, classes, rest, reserve, test):
    """The columns that RFECV keeps, and how its model does on the rows of the fold: right rows, labels in sets, covered rows."""
    prepare = make_pipeline(StandardScaler(), KNNImputer(n_neighbors=5, keep_empty_features=True)).fit(x[rest])
    y = np.array(y)
    step = 0.1 if x.shape[1] > WIDE else 1
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = RFECV(LinearSVC(C=1.0, dual=False), step=step, cv=folds, scoring="accuracy").fit(prepare.transform(x[rest]), y[rest])

    def decisions(part):
        f = model.decision_function(prepare.transform(x[part]))
        return np.column_stack([-f, f]) if classes == 2 else f

    f = decisions(test)
    sets = procedure.p_values(decisions(reserve), y[reserve], f) > procedure.EPSILON
    return model.n_features_, (f.argmax(axis=1) == y[test]).sum(), sets.sum(), sets[np.arange(len(test)), y[test]].sum()


def cells_of(found):
    """Size of the answer, sizes in the folds, accuracy and set size of one rule."""
    size, tested = found["chosen"]["size"], found["tested"]
    if size is None or tested is None or tested["performance"] is None:
        return [size if size is not None else "none", "not tested", "", ""]
    performance, sizes = tested["performance"], tested["sizes"]
    shown = f"{min(sizes)} to {max(sizes)}" + (f", none in {tested['without_list']}" if tested["without_list"] else "")
    return [size, shown, f"{performance['accuracy']['value']:.3f}", f"{performance['set_size']['value']:.2f}"]


def compare(program, name, path, options):
    results = {}
    for rule in RULES:
        results[rule], manifest, dealt = run(program, path, options, rule)
    x, y, classes = encode(path, manifest, options)
    row = [f"{name} {x.shape[0]} × {len(manifest['units'])}, {classes} classes", f"{max(np.bincount(y)) / len(y):.3f}"]
    for rule in RULES:
        row += cells_of(results[rule])
    sizes, right, labels, covered = [], 0, 0, 0
    if not dealt:
        row += ["not tested", "", ""]
    elif x.size > LARGEST:
        row += ["not run", "", ""]
    else:
        for index, (test, reserve, rest) in enumerate(rows.outer_folds(y, FOLDS, 0)):
            known = [tested["row"] for tested in dealt[f"fold/crfe/{index}"]["rows"]]
            assert not known or known == test, f"{name}: the folds differ"
            size, *counts = rfecv(x, y, classes, rest, reserve, test)
            sizes.append(size)
            right, labels, covered = right + counts[0], labels + counts[1], covered + counts[2]
        row += [f"{min(sizes)} to {max(sizes)}", f"{right / len(y):.3f}", f"{labels / len(y):.2f}"]
    coverage = [results[rule]["tested"]["performance"] for rule in RULES if (results[rule]["tested"] or {}).get("performance")]
    shown = [f"{of['coverage']['value']:.3f}" for of in coverage] + ([f"{covered / len(y):.3f}"] if sizes else [])
    print("| " + " | ".join(map(str, row)) + " | " + ", ".join(shown) + " |", flush=True)


def main():
    program, *wanted = sys.argv[1:]
    head = ["table", "largest class"]
    for rule in RULES:
        head += [f"{rule}: size", "in folds", "accuracy", "set size"]
    head += ["RFECV: columns in folds", "accuracy", "set size", "coverage"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    for name, path, options in tables():
        if path.exists() and (not wanted or name in wanted):
            compare(program, name, path, options)


main()
