"""How the time of one RBF path grows with rows and with features. Two
classes, noise and a product of two features. PATH_BENCH names the binary of the `path` bench. usage: rbf_growth.py"""

import tempfile
from pathlib import Path

import numpy as np

from timing import ours

ROWS, FEATURES = (150, 300, 600, 1200), (10, 20, 40, 80, 160)


def seconds(rows, features, work):
    draw = np.random.default_rng(1)
    x = draw.standard_normal((rows, features)).round(4)
    y = (x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * draw.standard_normal(rows) > 0).astype(int)
    csv = Path(work) / "table.csv"
    header = ",".join([f"x{j}" for j in range(features)] + ["class"])
    np.savetxt(csv, np.column_stack([x, y]), fmt=["%.4f"] * features + ["c%d"], delimiter=",", header=header, comments="")
    return [ours("time", csv, method, "rbf")["path"] for method in ("crfe", "rfe")]


def main():
    with tempfile.TemporaryDirectory() as work:
        print("| rows | features | CRFE path | RFE path |\n| --- | --- | --- | --- |")
        shapes = [(rows, 20) for rows in ROWS] + [(300, features) for features in FEATURES]
        for rows, features in shapes:
            crfe, rfe = seconds(rows, features, work)
            print(f"| {rows} | {features} | {1e3 * crfe:.3g} ms | {1e3 * rfe:.3g} ms |", flush=True)


main()
