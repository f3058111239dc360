"""Reads a model of crfe-tui fit as docs/formats.md describes it, and predicts new rows; needs numpy alone.

    python3 read_model.py M.json new.csv > predictions.csv

or, with rows as dictionaries of text or numbers:

    from read_model import Model
    p = Model("M.json").p_values([{"age": 61, "sex": "f"}])
"""

import csv
import json
import sys

import numpy as np

GRID = 2.0**32
VOTE = 2.0**44


def whole(values):
    """To the nearest whole number, halves away from zero."""
    near = np.rint(values)
    return np.where(np.abs(values - np.trunc(values)) == 0.5, np.trunc(values) + np.sign(values), near)


def spline_term(knots, term, x):
    """Term 0 is x itself, term j the restricted cubic of knot j."""
    if term == 0:
        return x
    first, before, last, knot = knots[0], knots[-2], knots[-1], knots[term - 1]
    unit = last - first
    gap, end, inner = (last - before) / unit, (last - knot) / unit, (before - knot) / unit
    inside = np.maximum((x - knot) / unit, 0) ** 3 - np.maximum((x - before) / unit, 0) ** 3 * end / gap
    beyond = end**3 - gap**2 * end + 3 * end * inner * ((x - last) / unit)
    return unit * np.where(x <= last, inside, beyond)


class Model:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.json = model = json.load(file)
        if model["kind"] != "crfe-tui model" or model["format"] != 2:
            raise ValueError("not a crfe-tui model of format 2")
        if (model["estimator"] not in ("linear", "rbf") and "rcs" not in model["estimator"]) or model["conformal"]["smoothed"]:
            raise ValueError("this reader knows linear, spline and kernel machines without randomised p-values")
        self.classes = model["classes"]
        self.bias = np.array(model["bias"])
        self.words = {"", "?", ".", *model["reading"]["missing"]}

    def _missing(self, cell):
        return cell is None or cell in self.words or cell.lower() in ("na", "n/a", "nan", "null")

    def _column(self, column, cell):
        """The number of one column for the text of its variable; a level that was never seen is missing."""
        variable = self.json["variables"][column["variable"]]
        cell = None if cell is None else str(cell).strip()
        if self._missing(cell):
            return np.nan
        levels = variable.get("levels", [])
        if not levels:
            return float(cell)
        cell = cell.lower() if variable.get("any_case") else cell
        if cell not in levels:
            return np.nan
        return float(cell == levels[column["place"] + (1 if len(levels) == 2 else 0)])

    def _scale(self, scaler, x):
        if scaler == "keep":
            return x
        if scaler == "zero":
            return np.where(np.isnan(x), x, 0.0)
        if "shifted" in scaler:
            (a, b), affine = scaler["shifted"]
            x = x * a * b
        else:
            affine = scaler["affine"]
        return np.clip((x - affine["centre"]) / affine["spread"], -1e30, 1e30)

    def _fill(self, row):
        """k nearest training rows by Euclidean distance over the columns that both have, per shared column."""
        filling = self.json["preparation"]["filling"]
        gaps = np.isnan(row)
        if not gaps.any():
            return row
        if filling is None:
            raise ValueError("a value is missing, and this model fills no gaps")
        filled = np.where(gaps, np.array(filling["fallback"]), row)
        if filling["nearest"] is None:
            return filled
        donors = self.donors()
        both = ~gaps[:, None] & ~np.isnan(donors)
        squares = np.where(both, (donors - row[:, None]) ** 2, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = squares.sum(axis=0) / both.sum(axis=0)
        order = [i for i in np.argsort(np.round(distance * 2.0**32), kind="stable") if not np.isnan(distance[i])]
        for j in np.flatnonzero(gaps):
            values = [donors[j, i] for i in order if not np.isnan(donors[j, i])][: filling["nearest"]["k"]]
            if values:
                filled[j] = sum(values) / len(values)
        return filled

    def donors(self):
        if not hasattr(self, "_donors"):
            columns = self.json["preparation"]["filling"]["nearest"]["donors"]
            self._donors = np.array([[np.nan if v is None else v for v in column] for column in columns])
        return self._donors

    def cells(self, rows):
        """Rows × columns as numbers; what is missing is NaN."""
        columns, variables = self.json["columns"], self.json["variables"]
        cells = [[self._column(c, row.get(variables[c["variable"]]["name"])) for c in columns] for row in rows]
        return np.array(cells, dtype=float).reshape(len(rows), len(columns))

    def matrix(self, rows):
        """Rows × columns of the machines, scaled and filled."""
        x = self.cells(rows)
        for j, scaler in enumerate(self.json["preparation"]["scaling"]):
            x[:, j] = self._scale(scaler, x[:, j])
        x = np.array([self._fill(row) for row in x]).reshape(x.shape)
        splines = self.json["preparation"].get("splines")
        if splines is None:
            return x
        terms = [(j, s["knots"], t, scaler) for j, s in enumerate(splines) for t, scaler in enumerate(s["scalers"])]
        return np.column_stack([self._scale(scaler, spline_term(knots, t, x[:, j])) for j, knots, t, scaler in terms])

    def decisions(self, rows):
        """Rows × classes."""
        x, kernel = self.matrix(rows), self.json.get("kernel")
        if kernel is None:
            return x @ np.array(self.json["weights"]).T + self.bias
        support = np.array(kernel["support"])
        squares = np.array([((support - row) ** 2).sum(axis=1) for row in x]).reshape(len(rows), len(support))
        return (np.exp(-kernel["gamma"] * squares) + 1) @ np.array(kernel["coefficients"]).T

    def scores(self, f):
        """α of every label, in whole steps of the grid."""
        conformal, total = self.json["conformal"], f.sum(axis=1, keepdims=True)
        if conformal["score"] == "weighted":
            other = (1 - conformal["lambda"]) / (len(self.classes) - 1)
            alpha = -conformal["lambda"] * f + other * (total - f)
        else:
            rest = self.bias.sum() - self.bias
            alpha = -f + (total - f - rest) + rest / (len(self.classes) - 1)
        return whole(alpha * GRID)

    def p_values(self, rows):
        """Rows × classes."""
        conformal = self.json["conformal"]
        alpha = self.scores(self.decisions(rows))
        p = np.empty_like(alpha)
        for y in range(len(self.classes)):
            category = conformal["calibration"][y if conformal["mondrian"] else 0]
            known = np.array(category["alpha"]) * GRID
            below = np.searchsorted(known, alpha[:, y], side="left")
            if "groups" in category:
                votes = np.append(np.cumsum(np.array(category["share"])[::-1])[::-1], 0.0)[below]
                p[:, y] = (whole(votes * VOTE) / VOTE + 1) / (category["groups"] + 1)
            elif conformal["score"] == "weighted":
                p[:, y] = (len(known) - below + 1) / (len(known) + 1)
            else:
                p[:, y] = np.minimum((len(known) - below + 1) / max(len(known), 1), 1)
        # Of a row in which nothing was measured nothing is known: its set holds every class.
        p[np.isnan(self.cells(rows)).all(axis=1)] = 1.0
        return p


def main(model, table):
    model = Model(model)
    with open(table, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    f, p = model.decisions(rows), model.p_values(rows)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["predicted", "set", *("p_" + name for name in model.classes)])
    epsilon = model.json["conformal"]["epsilon"]
    for decision, values in zip(f, p):
        label_set = [name for name, value in zip(model.classes, values) if value > epsilon]
        out.writerow([model.classes[int(np.argmax(decision))], ";".join(label_set), *(repr(float(v)) for v in values)])


if __name__ == "__main__":
    main(*sys.argv[1:])
