# Repeats one split's elimination with scikit-learn's LinearSVC and compares the order of removal with that of crfe-tui.
# Needs numpy and scikit-learn.  Usage: python reproduce.py [DATA.CSV]
import csv
import sys

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

DATA = @DATA@
DELIMITER, DECIMAL, HEADER, MISSING = @READ@
TARGET = @TARGET@
CLASSES = @CLASSES@
SCALE, IMPUTE, COST, WEIGHT, LAMBDA = @SETTINGS@
# Split @SPLIT@: rows of the file from 0, without the header.
TRAIN = @TRAIN@
SELECTION = @SELECTION@
# Encoded columns, the units that are removed at once, and the units that stay.
COLUMNS = @COLUMNS@
UNITS = @UNITS@
KEPT = @KEPT@
# For each method how many units went after each model, and in which order.
BATCHES = @BATCHES@
ORDER = @ORDER@


def read(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    first = text.split("\n", 1)[0]
    delimiter = DELIMITER or max(",;\t|", key=first.count)
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
    header = [cell.strip() for cell in rows.pop(0)] if HEADER else [f"c{i + 1}" for i in range(len(rows[0]))]
    return {name: [row[i].strip() for row in rows] for i, name in enumerate(header)}


def missing(cell):
    return cell.lower() in ("", "?", ".", "na", "n/a", "nan", "null") or cell in MISSING


def encode(table, name):
    if name in table:
        return [np.nan if missing(cell) else float(cell.replace(DECIMAL, ".")) for cell in table[name]]
    # A level of a category: name=level.
    variable = next(v for v in sorted(table, key=len, reverse=True) if name.startswith(v + "="))
    level = name[len(variable) + 1:]
    return [np.nan if missing(cell) else float(cell == level) for cell in table[variable]]


def prepare(table):
    x = np.array([encode(table, name) for name in COLUMNS]).T
    y = np.array([CLASSES.index(cell) if cell in CLASSES else -1 for cell in table[TARGET]])
    train, selection = x[TRAIN], x[SELECTION]
    constant = np.array([len(set(column[~np.isnan(column)])) < 2 for column in train.T])
    steps = []
    if SCALE != "none":
        steps.append(StandardScaler() if SCALE == "standard" else MinMaxScaler())
    if IMPUTE.startswith("knn:"):
        steps.append(KNNImputer(n_neighbors=int(IMPUTE[4:]), keep_empty_features=True))
    elif IMPUTE == "median":
        steps.append(SimpleImputer(strategy="median", keep_empty_features=True))
    for step in steps:
        train = step.fit_transform(train)
        selection = step.transform(selection)
    return (train, y[TRAIN]), (selection, y[SELECTION]), constant


def weights(x, y):
    """One row of weights for each class against the rest."""
    model = LinearSVC(C=COST, class_weight=WEIGHT, dual=False, tol=1e-8, max_iter=100000).fit(x, y)
    w = model.coef_
    return np.vstack([-w, w]) if len(CLASSES) == 2 else w


def beta(w, x, y):
    """What each column adds to the non-conformity of the selection rows."""
    m = len(CLASSES)
    sums = np.array([x[y == k].sum(axis=0) for k in range(m)])
    others = sums.sum(axis=0) - sums
    return -(w * (LAMBDA * sums - (1 - LAMBDA) / (m - 1) * others)).sum(axis=0)


def first_to_go(candidates, count):
    """Constant ones first, then by urgency; of tied ones (relative 1e-9) the first unit."""
    left, order = sorted(candidates), []
    while left and len(order) < count:
        constant = [c for c in left if c[1]]
        if constant:
            chosen = constant[0]
        else:
            top = max(left, key=lambda c: c[2])[2]
            chosen = next(c for c in left if top - c[2] <= 1e-9 * max(abs(top), abs(c[2])))
        left.remove(chosen)
        order.append(chosen[0])
    return order


def eliminate(method, batches, train, selection, constant):
    present, order, frozen = list(range(len(UNITS))), [], None
    for count in batches:
        columns = sorted(j for unit in present for j in UNITS[unit])
        place = {j: i for i, j in enumerate(columns)}
        w = weights(train[0][:, columns], train[1])
        if method == "rfe":
            urgency = -(w[:1] if len(CLASSES) == 2 else w) ** 2
            urgency = urgency.sum(axis=0)
        else:
            urgency = beta(w, selection[0][:, columns], selection[1])
        by_unit = {unit: sum(urgency[place[j]] for j in UNITS[unit]) for unit in present}
        if method == "smfs":
            frozen = frozen or by_unit
            by_unit = frozen
        candidates = [(u, all(constant[j] for j in UNITS[u]), by_unit[u]) for u in present if u not in KEPT]
        going = first_to_go(candidates, count)
        order += going
        present = [unit for unit in present if unit not in going]
    return order


def main():
    train, selection, constant = prepare(read(sys.argv[1] if len(sys.argv) > 1 else DATA))
    agree = True
    for method, expected in ORDER.items():
        order = eliminate(method, BATCHES[method], train, selection, constant)
        same = sum(a == b for a, b in zip(order, expected))
        print(f"{method}: {same} of {len(expected)} eliminations are the same")
        if order != expected:
            agree = False
            at = next(i for i, (a, b) in enumerate(zip(order, expected)) if a != b)
            print(f"  first difference at {at}: unit {order[at]} here, unit {expected[at]} there")
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
