"""How cost grows: times CRFE paths over a range of n, p and m, and whole jobs over a range of splits; fits the exponent (least
squares, log–log)."""

import tempfile
from pathlib import Path

import numpy as np

import shapes
from timing import ours, whole_job

SERIES = [
    # what grows, values, shape of a value
    ("rows n (p = 50, m = 2)", [2000, 4000, 8000, 16000], lambda v: (v, 50, 2, None)),
    ("columns p < n (n = 8000, m = 2)", [25, 50, 100, 200], lambda v: (8000, v, 2, None)),
    ("classes m (n = 4000, p = 50)", [3, 6, 12], lambda v: (4000, 50, v, None)),
    ("columns p ≥ n (n = 200, m = 2)", [2000, 4000, 8000, 16000], lambda v: (200, v, 2, None)),
    ("rows n ≤ p (p = 4000, m = 2)", [100, 200, 400, 800], lambda v: (v, 4000, 2, None)),
]
SPLITS = [10, 20, 40, 80]


def row(what, values, times):
    slope = np.polyfit(np.log(values), np.log(times), 1)[0]
    shown = ", ".join(f"{1e3 * t:.3g}" for t in times)
    print(f"| {what} | {', '.join(map(str, values))} | {shown} | {slope:.2f} |", flush=True)


def main():
    print("| grows | values | processor time, ms | exponent |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as work:
        for what, values, shape in SERIES:
            times = []
            for value in values:
                shapes.SHAPES["it"] = shape(value)
                csv = Path(work) / "it.csv"
                shapes.write("it", csv)
                times.append(min(ours("time", csv, "crfe")["path"] for _ in range(2)))
            row(what, values, times)
    table = Path(__file__).resolve().parents[2] / "data" / "dermatology.csv"
    options = lambda splits: ["--splits", splits, "--method", "crfe"]
    times = [min(whole_job(table, *options(splits)) for _ in range(2)) for splits in SPLITS]
    row("splits (dermatology, whole job)", SPLITS, times)


main()
