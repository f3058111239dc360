"""The examples of the README run, with fewer splits and without permutations."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

import crfe_tui

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_run(heart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(heart, "data.csv")
    table = pd.read_csv("data.csv")
    crfe_tui.run("data.csv", out="RUN", splits=2, validate="none", permutations="none")
    numbers = table.select_dtypes("number").dropna()
    names = {"new_rows": table.drop(columns="class").head(5), "X": numbers, "y": table.loc[numbers.index, "class"]}
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    quick = 'splits=2, validate=2, permutations="none"'
    for block in blocks:
        exec(block.replace("splits=20", quick).replace('model="M.json"', f'model="M.json", {quick}').replace("splits=10", "splits=2"), names)
    assert names["run"].answer["splits"] == 2  # type: ignore[attr-defined]
