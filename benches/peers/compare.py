"""Times the peers and crfe-tui in turn on the same prepared rows, one thread each, C = 1; prints a table of ratios of
processor time.

A peer's path that would take longer than LIMIT seconds is extrapolated and marked ≈: single eliminations are timed at a few
sizes, by the package itself, and their cost is integrated over all sizes (trapezium rule). Such a number is an estimate.
"""

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
    os.environ[name] = "1"

import numpy as np
from CRFE import CRFE
from sklearn.feature_selection import RFE, RFECV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from shapes import SHAPES, write
from timing import ours, whole_job

warnings.filterwarnings("ignore")
LIMIT = float(os.environ.get("LIMIT", "60"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ["synthetic", "dermatology", "heart"]


def seconds(run):
    """Processor seconds of this process, as the `path` bench counts its own: a busy machine does not change them much."""
    start = time.process_time()
    run()
    return time.process_time() - start


def shortly(ratio):
    """Three digits, and never as a power of ten."""
    return f"{float(f'{ratio:.3g}'):g}×"


def svm(classes):
    # CRFE wraps several classes in OneVsRestClassifier(n_jobs=-1) unless it is given one.
    return LinearSVC(C=1.0) if classes == 2 else OneVsRestClassifier(LinearSVC(C=1.0), n_jobs=1)


def crfe_steps(data, columns, left):
    """CRFE 0.1.1 from `columns` features down to `left`."""
    (x, y), (x_cal, y_cal) = data
    model = CRFE(estimator=svm(len(np.unique(y))), features_to_select=left)
    model.fit(x[:, :columns], y, x_cal[:, :columns], y_cal)


def rfe_steps(data, columns, left):
    (x, y), _ = data
    RFE(LinearSVC(C=1.0), n_features_to_select=left, step=1).fit(x[:, :columns], y)


def rfecv_steps(data, columns, left):
    (x, y), _ = data
    RFECV(LinearSVC(C=1.0), min_features_to_select=left, step=1, cv=5, n_jobs=1).fit(x[:, :columns], y)


def path_seconds(steps, data, columns, extra_fits):
    """Seconds of a whole path and whether they are an estimate. `extra_fits`: fits a call makes besides one a step."""
    sizes = sorted({max(3, int(round(columns * share))) for share in (0.02, 0.1, 0.25, 0.5, 0.75, 1.0)})
    cost = {}
    for size in reversed(sizes):
        cost[size] = seconds(lambda: steps(data, size, size - 1)) / (1 + extra_fits)
        if cost[size] * columns < LIMIT / 20:  # surely short: no need to look at more sizes
            break
    known = sorted(cost)
    area = cost[known[0]] * known[0]
    area += sum((cost[a] + cost[b]) / 2 * (b - a) for a, b in zip(known, known[1:]))
    if area > LIMIT:
        return area, True
    return seconds(lambda: steps(data, columns, 1)), False


def compare(name, csv, work):
    ours("export", csv, work)
    load = lambda part: np.loadtxt(work / part, delimiter=",", ndmin=2)
    data = [(table[:, :-1], table[:, -1].astype(int)) for table in (load("train.csv"), load("selection.csv"))]
    rows, columns = data[0][0].shape
    classes = len(np.unique(data[0][1]))
    tall = {"crfe": 0, "rfe": 1, "rfecv": 1}
    steps = {"crfe": crfe_steps, "rfe": rfe_steps, "rfecv": rfecv_steps}
    times = {key: [] for key in (*steps, "our_crfe", "our_rfe", "our_fit", "fit", "job")}
    guess = {}
    for _ in range(ROUNDS):
        for key, run in steps.items():
            if guess.get(key):
                continue  # an estimate is made once: it is minutes, and not that exact
            method = "crfe" if key == "crfe" else "rfe"
            # Before and after the peer: the clock of a shared machine drifts while a long path runs.
            around = [ours("time", csv, method)]
            value, guess[key] = path_seconds(run, data, columns, tall[key])
            around.append(ours("time", csv, method))
            times[key].append(value)
            times[f"our_{method}"].append(float(np.mean([timed["path"] for timed in around])))
            times["our_fit"].append(float(np.mean([timed["fit"] for timed in around])))
            times["fit"].append(seconds(lambda: svm(classes).fit(*data[0])))
        times["job"].append(whole_job(csv, "--splits", 1, "--method", "crfe"))
    middle = {key: float(np.median(values)) for key, values in times.items()}
    mark = lambda key: "≈" if guess[key] else ""
    shown = lambda key: f"{mark(key)}{float(f'{middle[key]:.3g}'):g} s"
    ratio = lambda key, own: f"**{mark(key)}{shortly(middle[key] / middle[own])}**"
    cells = [
        f"{name} ({rows} training rows, {classes} classes)",
        f"{1e3 * middle['our_crfe']:.3g} ms",
        shown("crfe"),
        ratio("crfe", "our_crfe"),
        f"{1e3 * middle['our_rfe']:.3g} ms",
        shown("rfe"),
        ratio("rfe", "our_rfe"),
        shown("rfecv"),
        f"{1e3 * middle['our_fit']:.3g} ms",
        f"{1e3 * middle['fit']:.3g} ms",
        shortly(middle["fit"] / middle["our_fit"]),
        f"{middle['job']:.3g} s",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    wanted = sys.argv[1:] or [*SHIPPED, "1700x104x8", "7500x50", "20000x200", "200x2000", "200x20000"]
    head = ["data", "our CRFE path", "CRFE 0.1.1", "ratio", "our RFE path", "sklearn RFE", "ratio", "sklearn RFECV"]
    head += ["our fit", "sklearn fit", "ratio", "our whole job"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    with tempfile.TemporaryDirectory() as work:
        for name in wanted:
            if name in SHAPES:
                csv = Path(work) / f"{name}.csv"
                write(name, csv)
            else:
                csv = ROOT / "data" / f"{name}.csv"
            compare(name, csv, Path(work) / name)


main()
