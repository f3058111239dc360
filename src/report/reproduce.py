# Repeats one split's elimination with scikit-learn's LinearSVC and compares the order of removal with that of crfe-tui.
# Needs numpy and scikit-learn.  Usage: python reproduce.py [DATA.CSV]
import csv
import gzip
import hashlib
import io
import sys
from collections import Counter

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

# The table (None: it came from standard input) and the SHA-256 of its bytes.
DATA, SHA256 = @DATA@
# How its text is read: bound or na is what a value such as <0.5 stands for.
ENCODING, DELIMITER, DECIMAL, HEADER, TRANSPOSED, MISSING, CENSORED = @READ@
# The position of the class column; classes with fewer rows than FEWEST are merged into MERGED, unless that is None.
TARGET, FEWEST, MERGED = @TARGET@
CLASSES = @CLASSES@
# KNOTS of restricted cubic splines; None: columns enter as they are.
SCALE, IMPUTE, COST, WEIGHT, LAMBDA, KNOTS = @SETTINGS@
# Split @SPLIT@: rows of the file from 0, without the header.
TRAIN = @TRAIN@
SELECTION = @SELECTION@
# Encoded columns: name, position in the file, level of a category (None: a number), whether its case is ignored.
COLUMNS = @COLUMNS@
# The units that are removed at once, and the units that stay.
UNITS = @UNITS@
KEPT = @KEPT@
# For each method how many units went after each model, and in which order.
BATCHES = @BATCHES@
ORDER = @ORDER@


def read(path):
    """The columns of the table, as text."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        sys.exit(f"{path}: cannot be read ({error.strerror}); name the table: python reproduce.py DATA.CSV")
    if hashlib.sha256(data).hexdigest() != SHA256:
        sys.exit(f"{path}: this is not the file that the run was made of")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode(ENCODING, errors="replace").removeprefix("\ufeff")
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITER)
    # A line without a word is no row.
    rows = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
    if TRANSPOSED:
        rows = [row for row in zip(*rows) if len(row) > 1 or row[0].strip()]
    return [[cell.strip() for cell in column] for column in zip(*rows[1 if HEADER else 0:])]


def missing(cell):
    return cell.lower() in ("", "?", ".", "na", "n/a", "nan", "null") or cell in MISSING


def number(cell):
    if CENSORED and cell[0] in "<>≤≥":
        return np.nan if CENSORED == "na" else number(cell[1:].removeprefix("=").lstrip())
    return float(cell.replace(DECIMAL, "."))


def encode(table, column):
    _, position, level, any_case = column
    cells = [cell.lower() if any_case else cell for cell in table[position]]
    value = number if level is None else lambda cell: float(cell == level)
    return [np.nan if missing(cell) else value(cell) for cell in cells]


def classes(table):
    """For each row the number of its class, -1 if it has none."""
    labels = table[TARGET]
    if MERGED is not None:
        count = Counter(label for label in labels if not missing(label))
        labels = [MERGED if count[label] in range(1, FEWEST) else label for label in labels]
    return np.array([CLASSES.index(label) if label in CLASSES else -1 for label in labels])


def prepare(table):
    x = np.array([encode(table, column) for column in COLUMNS]).T
    y = classes(table)
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
    units = UNITS
    if KNOTS is not None:
        terms = [spline(*columns) for columns in zip(train.T, selection.T)]
        train, selection = (np.column_stack([part for pair in terms for part in pair[i]]) for i in (0, 1))
        ends = np.cumsum([len(pair[0]) for pair in terms])
        units = [[i for j in unit for i in range(ends[j] - len(terms[j][0]), ends[j])] for unit in UNITS]
        constant = np.repeat(constant, [len(pair[0]) for pair in terms])
    return (train, y[TRAIN]), (selection, y[SELECTION]), constant, units


def spline(train, selection):
    """The terms of a column, standardised, on training and on selection rows: itself and Harrell's restricted cubics."""
    quantiles = {3: [0.1, 0.5, 0.9], 4: [0.05, 0.35, 0.65, 0.95], 5: [0.05, 0.275, 0.5, 0.725, 0.95]}
    t = np.quantile(train, quantiles[KNOTS])
    terms = [lambda x: x]
    if t[-1] > t[0] and min(np.diff(t)) > 1e-9 * (t[-1] - t[0]):
        cube = lambda x, knot: np.maximum(x - knot, 0) ** 3
        last = lambda x, knot: (cube(x, t[-2]) * (t[-1] - knot) - cube(x, t[-1]) * (t[-2] - knot)) / (t[-1] - t[-2])
        terms += [lambda x, k=knot: (cube(x, k) - last(x, k)) / (t[-1] - t[0]) ** 2 for knot in t[:-2]]
    both = [(term(train), term(selection)) for term in terms]
    scaled = [[(part - a.mean()) / (a.std() or 1) for part in (a, b)] for a, b in both]
    return list(zip(*scaled))


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


def eliminate(method, batches, train, selection, constant, units):
    present, order, frozen = list(range(len(units))), [], None
    for count in batches:
        columns = sorted(j for unit in present for j in units[unit])
        place = {j: i for i, j in enumerate(columns)}
        w = weights(train[0][:, columns], train[1])
        if method == "rfe":
            urgency = -(w[:1] if len(CLASSES) == 2 else w) ** 2
            urgency = urgency.sum(axis=0)
        else:
            urgency = beta(w, selection[0][:, columns], selection[1])
        by_unit = {unit: sum(urgency[place[j]] for j in units[unit]) for unit in present}
        if method == "smfs":
            frozen = frozen or by_unit
            by_unit = frozen
        candidates = [(u, all(constant[j] for j in units[u]), by_unit[u]) for u in present if u not in KEPT]
        going = first_to_go(candidates, count)
        order += going
        present = [unit for unit in present if unit not in going]
    return order


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else DATA
    if path is None:
        sys.exit("usage: python reproduce.py DATA.CSV (the run read its table from standard input)")
    train, selection, constant, units = prepare(read(path))
    agree = True
    for method, expected in ORDER.items():
        order = eliminate(method, BATCHES[method], train, selection, constant, units)
        same = sum(a == b for a, b in zip(order, expected))
        print(f"{method}: {same} of {len(expected)} eliminations are the same")
        if order != expected:
            agree = False
            at = next(i for i, (a, b) in enumerate(zip(order, expected)) if a != b)
            print(f"  first difference at {at}: unit {order[at]} here, unit {expected[at]} there")
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
