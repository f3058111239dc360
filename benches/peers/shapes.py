"""Seeded synthetic tables: `shapes.py NAME FILE` writes one of the shapes below as CSV."""

import sys

import numpy as np

# name: rows, columns, classes, share of the largest class (None: all alike)
SHAPES = {
    "1700x104x8": (1700, 104, 8, 0.84),
    "7500x50": (7500, 50, 3, None),
    "20000x200": (20000, 200, 2, None),
    "200x2000": (200, 2000, 2, None),
    "200x20000": (200, 20000, 2, None),
    "100000x50": (100000, 50, 2, None),
}
INFORMATIVE = 10


def write(name, path, seed=1):
    rows, columns, classes, largest = SHAPES[name]
    draw = np.random.default_rng(seed)
    share = np.full(classes, 1 / classes)
    if largest:
        share = np.r_[largest, np.full(classes - 1, (1 - largest) / (classes - 1))]
    y = draw.choice(classes, size=rows, p=share)
    for k in range(classes):  # every class is in every part of every split
        y[12 * k : 12 * (k + 1)] = k
    x = draw.standard_normal((rows, columns))
    x[:, :INFORMATIVE] += draw.standard_normal((classes, INFORMATIVE))[y]
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(columns)) + ",class\n")
        for values, k in zip(x, y):
            file.write(",".join(f"{v:.6g}" for v in values) + f",c{k}\n")


if __name__ == "__main__":
    write(*sys.argv[1:3])
