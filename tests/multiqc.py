#!/usr/bin/env python3
"""Compares the table and the version that MultiQC read with summary.json of the runs: multiqc.py MULTIQC_DATA RUNS"""
import json
import pathlib
import sys

data, runs = map(pathlib.Path, sys.argv[1:3])
read = json.loads((data / "multiqc_data.json").read_text())
tables = [table for table in read["report_saved_raw_data"].values() if any("CRFE" in sample for sample in table)]
samples = {sample: cells for table in tables for sample, cells in table.items()}
expected = 0
for run in sorted(runs.iterdir()):
    summary = json.loads((run / "summary.json").read_text())
    for method in summary["methods"]:
        name = method["method"]
        cells = samples[f"{run.name} {name.upper()}"]
        performance = method["tested"]["performance"]
        for key, value in [
            ("features", method["chosen"]["size"]),
            ("accuracy", performance["accuracy"]["value"]),
            ("coverage", performance["coverage"]["value"]),
            ("stability", method["stability"]),
        ]:
            assert abs(float(cells[key]) - value) < 1e-9, (run.name, name, key, cells[key], value)
            expected += 1
assert expected == 16, expected
versions = (data / "multiqc_software_versions.txt").read_text()
assert "crfe-tui" in versions and "0.1.0" in versions, versions
print(f"MultiQC read {expected} numbers as the runs have them")
