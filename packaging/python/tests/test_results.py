"""The verbs: the same bytes as the command line, tables as pandas objects, errors as exceptions."""

import csv
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import crfe_tui
from crfe_tui._program import call, flags

QUICK = {"splits": 3, "validate": "none", "permutations": "none"}
SHELL = ["--splits", "3", "--validate", "none", "--permutations", "none", "--quiet"]


def shell(*arguments: object) -> str:
    return subprocess.run([crfe_tui.program(), *map(str, arguments)], check=True, capture_output=True, encoding="utf-8").stdout


def test_run_gives_the_files_of_the_command(heart: Path, tmp_path: Path) -> None:
    by_module = crfe_tui.run(heart, out=tmp_path / "module", **QUICK)
    shell("run", heart, "--out", tmp_path / "shell", *SHELL)
    tables = sorted(path.name for path in (tmp_path / "shell").glob("*.csv")) + ["summary.json", "selected.txt", "report.html"]
    assert len(tables) > 8
    for name in tables:
        assert (tmp_path / "module" / name).read_bytes() == (tmp_path / "shell" / name).read_bytes(), name
    assert by_module.selected == (tmp_path / "shell" / "selected.txt").read_text().splitlines()
    assert by_module.answer == json.loads((tmp_path / "shell" / "summary.json").read_text())


def test_tables_are_data_frames(heart: Path) -> None:
    run = crfe_tui.run(heart, **QUICK)
    assert list(run.ranking.columns) == ["method", "split", "feature", "rank"]
    ranks = run.ranking.query("method == 'crfe' and split == 0")["rank"]
    assert sorted(ranks) == list(range(1, 14))
    assert run.metrics["coverage"].between(0, 1).all()
    best = run.selection.query(f"method == 'crfe' and n_features == {len(run.selected)}").nlargest(1, "count")
    assert best["feature"].item() in run.selected
    assert {"split", "row", "class", "set"} <= set(run.table("predictions").columns)
    assert "CRFE: " in str(run)
    with pytest.raises(crfe_tui.CrfeError, match="no table 'nonsense'"):
        run.table("nonsense")


def test_a_data_frame_gives_the_answer_of_its_file(heart: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(heart)
    assert crfe_tui.run(frame, **QUICK).selected == crfe_tui.run(heart, **QUICK).selected


def test_a_temporary_run_is_removed_with_its_object(heart: Path) -> None:
    run = crfe_tui.run(heart, **QUICK)
    directory = run.directory
    assert directory.exists()
    del run
    assert not directory.exists()


def test_names_that_look_missing_stay_names() -> None:
    frame = pd.DataFrame({"NA": [0.1 * i % 0.7 for i in range(40)], "b": [i * i % 11 for i in range(40)], "class": ["no", "null?"] * 20})
    run = crfe_tui.run(frame, **QUICK)
    assert set(run.ranking["feature"]) == {"NA", "b"}


def test_read_takes_a_run_made_elsewhere(heart: Path, tmp_path: Path) -> None:
    shell("run", heart, "--out", tmp_path / "RUN", *SHELL)
    assert crfe_tui.read(tmp_path / "RUN").selected
    with pytest.raises(crfe_tui.CrfeError, match="crfe-tui report"):
        crfe_tui.read(tmp_path)


def test_fit_predict_and_validate_equal_the_command(heart: Path, tmp_path: Path) -> None:
    model = crfe_tui.fit(heart, model=tmp_path / "M.json", **QUICK)
    shell("fit", heart, "--model", tmp_path / "N.json", *SHELL)
    assert model.read_bytes() == (tmp_path / "N.json").read_bytes()
    rows = pd.read_csv(heart).iloc[::10]
    predicted = crfe_tui.predict(model, rows, epsilon=0.2)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    shell("predict", model, tmp_path / "rows.csv", "--epsilon", "0.2", "--out", tmp_path / "p.csv", "--quiet")
    with open(tmp_path / "p.csv", encoding="utf-8", newline="") as file:
        expected = list(csv.DictReader(file))
    assert list(predicted.index) == list(rows.index)
    assert predicted["set"].tolist() == [row["set"] for row in expected]
    assert predicted["p_diseased"].tolist() == [float(row["p_diseased"]) for row in expected]
    sets = predicted.apply(lambda row: ";".join(c for c in ["diseased", "healthy"] if row[f"p_{c}"] > 0.2), axis=1)
    assert sets.tolist() == predicted["set"].tolist()
    assert crfe_tui.validate(model, rows) == json.loads(shell("validate", model, tmp_path / "rows.csv", "--json"))


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        ({"target": "nobody"}, 2, "--target names the column 'nobody', which does not exist"),
        ({"stop": "sometime"}, 2, "invalid value 'sometime' for '--stop <RULE>'"),
        ({"speling": 1}, 2, "unexpected argument '--speling' found"),
    ],
)
def test_refusals_are_exceptions_with_the_sentence(heart: Path, options: dict[str, object], code: int, sentence: str) -> None:
    with pytest.raises(crfe_tui.CrfeError) as caught:
        crfe_tui.run(heart, **options)
    assert caught.value.code == code
    assert sentence in str(caught.value)
    assert "Usage" not in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, str(again)) == (code, str(caught.value))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(crfe_tui.CrfeError, match="nowhere.csv: there is no such file") as caught:
        crfe_tui.run("nowhere.csv")
    assert caught.value.code == 3


def test_the_environment_sets_nothing(heart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRFE_SPLITS", "7")
    assert crfe_tui.run(heart, splits=2, validate="none", permutations="none").answer["splits"] == 2
    monkeypatch.setenv("CRFE_STOP", "3")
    assert crfe_tui.run(heart, **QUICK).answer["methods"][0]["chosen"]["rule"] == "1se"


def test_options_become_flags() -> None:
    options = {"cal_size": 0.4, "mondrian": True, "early": False, "na": None, "keep": ["a", "b, c"], "lambda_": 0.25}
    assert list(flags(options)) == ["--cal-size=0.4", "--mondrian", '--keep=a,"b, c"', "--lambda=0.25"]


def test_python_m_is_the_program() -> None:
    said = subprocess.run([sys.executable, "-m", "crfe_tui", "--version"], capture_output=True, encoding="utf-8", check=True)
    assert said.stdout == shell("--version")
    assert said.stdout.split()[:2] == ["crfe-tui", crfe_tui.version()]
    refused = subprocess.run([sys.executable, "-m", "crfe_tui", "run", "nowhere.csv"], capture_output=True, check=False)
    assert refused.returncode == 3


def test_without_the_program_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    with pytest.raises(crfe_tui.CrfeError, match="pip install crfe-tui"):
        crfe_tui.program()


def test_the_verbs_do_not_need_scikit_learn() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import crfe_tui; crfe_tui.program()"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_a_run_whose_tasks_failed_in_part_warns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho told\necho 'crfe-tui: 1 of 6 tasks failed; run it again' >&2\nexit 4\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("crfe_tui._program.program", lambda: str(program))
    with pytest.warns(crfe_tui.CrfeWarning, match="^1 of 6 tasks failed; run it again$"):
        assert call(["run"]) == "told\n"
