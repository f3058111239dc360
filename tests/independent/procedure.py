"""The procedure by numpy and scikit-learn: preparation, fits, paths, sizes, lists, p-values. Written from docs/method.md, not from the program."""

from fractions import Fraction

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

LAMBDA, COST, EPSILON, NEIGHBOURS = 0.5, 1.0, 0.1, 5


def prepare(x, rows, others):
    """Scaled and imputed with what the training rows say (section 1); also which columns are constant there."""
    train = x[rows]
    scaler = StandardScaler().fit(train)
    lowest, highest = np.nanmin(train, axis=0), np.nanmax(train, axis=0)
    constant = highest - lowest <= 1e-12 * np.maximum(abs(lowest), abs(highest))
    parts = [scaler.transform(x[part]) for part in [rows, *others]]
    for part in parts:
        part[:, constant] = np.where(np.isnan(part[:, constant]), np.nan, 0.0)
    donors = parts[0].copy()
    return [impute(part, donors) for part in parts], constant


def impute(part, donors):
    """The mean of the nearest training rows that have the value, by the distance over the columns that both rows have."""
    filled = part.copy()
    for i in np.flatnonzero(np.isnan(part).any(axis=1)):
        squares = (donors - part[i]) ** 2
        shared = (~np.isnan(squares)).sum(axis=1)
        distance = np.where(shared > 0, np.nansum(squares, axis=1) / np.maximum(shared, 1), np.inf)
        # Distances that are equal but for rounding keep the order of the rows.
        order = np.argsort(np.round(distance * 2.0**32), kind="stable")
        for j in np.flatnonzero(np.isnan(part[i])):
            near = [d for d in order if shared[d] > 0 and not np.isnan(donors[d, j])][:NEIGHBOURS]
            filled[i, j] = donors[near, j].mean() if near else np.nan_to_num(np.nanmean(donors[:, j]))
    return filled


def machines(x, y, classes):
    """w and b of each class against the rest, by LinearSVC; Newton's method from there, for LIBLINEAR ends some 1e-8 off."""
    fitted = LinearSVC(C=COST, dual=False, tol=1e-6, max_iter=10000).fit(x, y)
    starts = np.hstack([fitted.coef_, fitted.intercept_[:, None]])
    signs = [np.where(y == k, 1.0, -1.0) for k in ([1] if classes == 2 else range(classes))]
    with_bias = np.hstack([x, np.ones((len(x), 1))])
    found = []
    for w, sign in zip(starts, signs):
        for _ in range(50):
            loss = 1 - sign * (with_bias @ w)
            active = loss > 0
            rows = with_bias[active]
            gradient = w - 2 * COST * rows.T @ (sign * loss)[active]
            if np.linalg.norm(gradient) <= 1e-12 * max(1.0, np.linalg.norm(w)):
                break
            w = w - np.linalg.solve(np.eye(len(w)) + 2 * COST * rows.T @ rows, gradient)
        else:
            raise SystemExit("Newton's method does not end")
        found.append(w)
    assert np.abs(np.array(found) - starts).max() < 1e-3, "LinearSVC solves another problem"
    found = np.array([-found[0], found[0]] if classes == 2 else found)
    return found[:, :-1], found[:, -1]


def beta(w, x, y):
    """What each column adds to the non-conformity of the selection rows, row by row (section 3)."""
    total = np.zeros(x.shape[1])
    for row, k in zip(x, y):
        total -= (LAMBDA * w[k] - (1 - LAMBDA) / (len(w) - 1) * (w.sum(axis=0) - w[k])) * row
    return total


def alphas(f):
    """The non-conformity of each row under each label, in whole steps of 2⁻³²."""
    others = f.sum(axis=1, keepdims=True) - f
    scaled = (-LAMBDA * f + (1 - LAMBDA) / (f.shape[1] - 1) * others) * 2.0**32
    return np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)


def p_values(f_conformal, y_conformal, f_test):
    known = alphas(f_conformal)[np.arange(len(y_conformal)), y_conformal]
    at_least = (known[None, None, :] >= alphas(f_test)[:, :, None]).sum(axis=2)
    return (at_least + 1) / (len(known) + 1)


def first(candidates):
    """The unit that is removed: constant ones first, then the largest score; of tied ones (relative 1e-9) the first."""
    constant = [unit for unit, still, _ in candidates if still]
    if constant:
        return constant[0]
    top = max(score for _, _, score in candidates)
    return next(unit for unit, _, score in candidates if top - score <= 1e-9 * max(abs(top), abs(score)))


class Path:
    """One method on one split: the rank of each unit, and at each size what was counted on the test rows."""

    def __init__(self, table, y, split, method, metrics_at=None):
        (train, selection, conformal, test), constant = prepare(table.x, split[0], split[1:])
        y = np.array(y)
        y_train, y_selection, y_conformal, y_test = (y[part] for part in split)
        present, order = list(range(len(table.units))), []
        self.correct, self.set_size, self.s_score, self.rows = {}, {}, {}, len(y_test)
        while True:
            columns = [j for unit in present for j in table.units[unit]]
            w, b = machines(train[:, columns], y_train, table.classes)
            size = len(present)
            if metrics_at is None or size in metrics_at:
                f = test[:, columns] @ w.T + b
                p = p_values(conformal[:, columns] @ w.T + b, y_conformal, f)
                self.correct[size] = int((f.argmax(axis=1) == y_test).sum())
                self.set_size[size] = int((p > EPSILON).sum())
                self.s_score[size] = float(p.sum(axis=1).mean())
            if size == 1:
                break
            columnwise = beta(w, selection[:, columns], y_selection) if method == "crfe" else -(w**2).sum(axis=0)
            place = {j: at for at, j in enumerate(columns)}
            score = {unit: sum(columnwise[place[j]] for j in table.units[unit]) for unit in present}
            going = first([(unit, constant[table.units[unit]].all(), score[unit]) for unit in present])
            order.append(going)
            present.remove(going)
        order += present
        self.rank = {unit: len(order) - at for at, unit in enumerate(order)}


def one_se(curves):
    """The size of section 11 in exact arithmetic; each curve holds for each split the values by size, small is good."""
    chosen = []
    for values in curves:
        sizes, count = sorted(values[0]), len(values)
        best = min(sizes, key=lambda s: (sum(of[s] for of in values), s))
        close = []
        for size in sizes:
            differences = [of[size] - of[best] for of in values]
            mean = sum(differences) / count
            squares = sum((d - mean) ** 2 for d in differences)
            variance = squares / (count - 1) / count if count > 1 else Fraction(0)
            if mean <= 0 or mean**2 <= variance:
                close.append(size)
        if len(close) < len(sizes) or len(sizes) == 1:
            chosen.append(close[0])
    return max(chosen, default=None)


def answer(paths):
    """The size, and all units by frequency there: (unit, number of splits that keep it)."""
    curves = [
        [{s: Fraction(path.set_size[s], path.rows) for s in path.set_size} for path in paths],
        [{s: -Fraction(path.correct[s], path.rows) for s in path.correct} for path in paths],
    ]
    size = one_se(curves)
    return size, [] if size is None else by_frequency(paths, size)


def by_frequency(paths, size):
    counts = {unit: sum(path.rank[unit] <= size for path in paths) for unit in paths[0].rank}
    mean_rank = {unit: Fraction(sum(path.rank[unit] for path in paths), len(paths)) for unit in counts}
    return [(unit, counts[unit]) for unit in sorted(counts, key=lambda unit: (-counts[unit], mean_rank[unit], unit))]
