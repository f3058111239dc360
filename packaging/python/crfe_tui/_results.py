"""The verbs run, fit, predict, validate and read, and what a run left as pandas objects."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ._program import CrfeError, call, flags

if TYPE_CHECKING:
    import pandas as pd

    Table = Union[str, os.PathLike[str], pd.DataFrame]

UNREADABLE = 3


class Run:
    """A finished run. A run that was given no directory lives in a temporary one, as long as this object."""

    def __init__(self, directory: str | os.PathLike[str], keep: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self.directory = Path(directory)
        self._keep = keep

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r})"

    def __str__(self) -> str:
        return self._text("summary.txt")

    @property
    def answer(self) -> dict[str, Any]:
        """The answer, as `crfe-tui run --json` prints it."""
        answer: dict[str, Any] = json.loads(self._text("summary.json"))
        return answer

    @property
    def selected(self) -> list[str]:
        """The selected features of the first method, best first."""
        return [feature["name"] for feature in self.answer["methods"][0]["features"]]

    @property
    def ranking(self) -> pd.DataFrame:
        """Rank of each feature by method and split; 1 was kept longest."""
        return self.table("ranking")

    @property
    def selection(self) -> pd.DataFrame:
        """In how many splits a feature is among the last n_features."""
        return self.table("selection")

    @property
    def metrics(self) -> pd.DataFrame:
        """Coverage, set size, accuracy and more of every model on the test rows of its split."""
        return self.table("metrics")

    def table(self, name: str) -> pd.DataFrame:
        """Any table of the run by its name without .csv; docs/formats.md lists them with their columns."""
        for suffix in (".csv", ".csv.gz"):
            path = self.directory / (name + suffix)
            if path.exists():
                return _read_csv(path)
        raise CrfeError(f"{self.directory} has no table {name!r}; make the tables with: crfe-tui report {self.directory}", UNREADABLE)

    def _text(self, name: str) -> str:
        try:
            return (self.directory / name).read_text(encoding="utf-8")
        except OSError as error:
            raise CrfeError(f"{error}; make the tables with: crfe-tui report {self.directory}", UNREADABLE) from error


def run(table: Table, *, out: str | os.PathLike[str] | None = None, **options: object) -> Run:
    """Runs the selection on a file or a DataFrame; `options` are those of `crfe-tui run`, with underscores for hyphens."""
    keep = None
    if out is None:
        keep = tempfile.TemporaryDirectory(prefix="crfe-tui-")
        out = os.path.join(keep.name, "RUN")
    with _file(table) as path:
        call(["run", path, "--quiet", f"--out={os.fspath(out)}", *flags(options)])
    return Run(out, keep)


def read(directory: str | os.PathLike[str]) -> Run:
    """A run that was made before, here or elsewhere."""
    found = Run(directory)
    found.answer  # refuses a directory without one
    return found


def fit(table: Table, *, model: str | os.PathLike[str], **options: object) -> Path:
    """Selects, fits and calibrates a model for new rows; returns its path. `options` are those of `crfe-tui fit`."""
    with _file(table) as path:
        call(["fit", path, "--quiet", f"--model={os.fspath(model)}", *flags(options)])
    return Path(model)


def predict(model: str | os.PathLike[str], table: Table, **options: object) -> pd.DataFrame:
    """Prediction set, p-values, confidence and flags of each new row; of a DataFrame with its index."""
    with _file(table) as path:
        said = call(["predict", os.fspath(model), path, "--quiet", *flags(options)])
    predictions = _read_csv(io.StringIO(said), text=["id", "predicted", "set", "flags"])
    if not isinstance(table, (str, os.PathLike)):
        predictions.index = table.index
    return predictions


def validate(model: str | os.PathLike[str], table: Table, **options: object) -> dict[str, Any]:
    """How well a model does on rows whose class is known."""
    with _file(table) as path:
        measured: dict[str, Any] = json.loads(call(["validate", os.fspath(model), path, "--json", *flags(options)]))
    return measured


@contextmanager
def _file(table: Table) -> Iterator[str]:
    """The path of a table; a DataFrame is written to a temporary file, without its index."""
    if isinstance(table, (str, os.PathLike)):
        yield os.fspath(table)
        return
    with tempfile.TemporaryDirectory(prefix="crfe-tui-") as here:
        path = os.path.join(here, "table.csv")
        table.to_csv(path, index=False)
        yield path


def _read_csv(source: Path | io.StringIO, text: list[str] | None = None) -> pd.DataFrame:
    """A table as written: only the empty cell is missing, names like NA stay names, numbers keep every bit."""
    import pandas as pd

    named = {"method": "str", "feature": "str", "class": "str", "set": "str", "id": "str", "features": "str", "removed": "str"}
    named |= dict.fromkeys(text or [], "str")
    exact: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}  # the default since pandas 3
    table: pd.DataFrame = pd.read_csv(source, keep_default_na=False, na_values=[""], dtype=named, **exact)
    for column in text or []:
        table[column] = table[column].fillna("")
    return table
