#!/usr/bin/env python3
"""What `crfe-tui check` says of time and memory, against what a run takes.

    benches/estimates.py PROGRAM [SHAPE…]      all shapes, or those whose names are given

Tables are made in target/estimates. Time is compared as processor time of all threads, so that other
work on the machine disturbs little. The promise is a factor of two either way."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# name: rows, columns, classes, options
SHAPES = {
    "60x10": (60, 10, 2, []),
    "300x13": (300, 13, 2, []),
    "358x34": (358, 34, 6, []),
    "500x100": (500, 100, 2, []),
    "200x2000": (200, 2000, 2, []),
    "1700x104": (1700, 104, 8, ["--permutations", "none"]),
    "1000x1000": (1000, 1000, 2, ["--permutations", "none", "--splits", "5"]),
    "7500x50": (7500, 50, 2, ["--permutations", "none"]),
    "200x20000-tenth": (200, 20_000, 2, ["--step", "0.1", "--splits", "5"]),
    "2000x2000-half": (2000, 2000, 2, ["--step", "half", "--splits", "2"]),
    "5000x5000-half": (5000, 5000, 2, ["--step", "half", "--splits", "1", "--method", "rfe", "--validate", "none", "--permutations", "none"]),
    "300x13-rbf": (300, 13, 2, ["--estimator", "rbf", "--splits", "5"]),
    "500x100000-half": (500, 100_000, 2, ["--step", "half", "--splits", "5", "--permutations", "none"]),
    "1000000x50": (1_000_000, 50, 2, ["--splits", "2", "--validate", "none", "--permutations", "none"]),
    "heart-10000": (303, 13, 2, ["--splits", "10000", "--validate", "none", "--permutations", "none"]),
}
ROOT = Path(__file__).resolve().parent.parent


def table(rows: int, columns: int, classes: int) -> Path:
    """A table of noise in which the first tenth of the columns (at most ten) carries the class."""
    directory = ROOT / "target" / "estimates"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{rows}x{columns}x{classes}.csv"
    if path.exists():
        return path
    rng = random.Random(1)
    informative = min(10, max(1, columns // 10))
    part = path.with_suffix(".part")
    with part.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(columns)) + ",class\n")
        pool = [rng.gauss(0, 1) for _ in range(1 << 16)]
        for row in range(rows):
            label = row % classes
            start = rng.randrange(1 << 16)
            values = [pool[(start + j * 7919) & 0xFFFF] for j in range(columns)]
            for j in range(informative):
                values[j] += 1.5 * ((label + j) % classes == 0)
            file.write(",".join(f"{value:.4f}" for value in values) + f",c{label}\n")
    part.rename(path)
    return path


def measure(command: list[str]) -> tuple[float, float, float]:
    """Wall and processor seconds, and bytes of memory."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)} failed:\n{errors.decode()}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    program, names = sys.argv[1], sys.argv[2:] or list(SHAPES)
    print(f"{'shape':18} {'said s':>8} {'cpu s':>8} {'ratio':>6} {'wall s':>8} {'check s':>8} {'said MB':>8} {'took MB':>8} {'ratio':>6}")
    for name in names:
        rows, columns, classes, options = SHAPES[name]
        path = table(rows, columns, classes)
        start = time.monotonic()
        said = json.loads(subprocess.run([program, "check", path, "--json", *options], check=True, capture_output=True).stdout)["run"]
        checked = time.monotonic() - start
        with tempfile.TemporaryDirectory() as scratch:
            wall, cpu, memory = measure([program, "run", str(path), "-q", "--out", scratch + "/run", *options])
        # What check says is seconds of wall time on its threads.
        of_threads = said.get("core_seconds", said["seconds"] * said["threads"])
        print(f"{name:18} {of_threads:8.2f} {cpu:8.2f} {of_threads / cpu:6.2f} {wall:8.2f} {checked:8.2f} {said['bytes'] / 1e6:8.0f} {memory / 1e6:8.0f} {said['bytes'] / memory:6.2f}", flush=True)


if __name__ == "__main__":
    main()
