"""Finds the program, calls it, and turns what it says on failure into an exception."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator

NAME = "crfe-tui"
SOME_FAILED = 4


class CrfeError(ValueError):
    """The program refused or failed; the message is its sentence, `code` its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[CrfeError], tuple[str, int]]:
        return type(self), (str(self), self.code)


class CrfeWarning(UserWarning):
    """The program finished, but some of its tasks failed, or it chose no size."""


def program() -> str:
    """Path of the program: that of this installation, else the one on PATH."""
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), os.path.dirname(sys.executable)]
    found = shutil.which(NAME, path=os.pathsep.join(schemes)) or shutil.which(NAME)
    if found is None:
        raise CrfeError(f"{NAME} is neither beside this Python nor on PATH; install it with: pip install {NAME}", 127)
    return found


def version() -> str:
    """Version of the program, as 1.2.3."""
    told: str = json.loads(call(["--version", "--json"]))["version"]
    return told


def call(arguments: Iterable[str]) -> str:
    """Runs the program with these arguments alone, without settings of the environment, and returns its standard output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRFE_")}
    environment["CRFE_CONFIG"] = os.devnull
    done = subprocess.run(
        [program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", env=environment, check=False
    )
    if done.returncode == SOME_FAILED:
        warnings.warn(_sentence(done.stderr), CrfeWarning, stacklevel=3)
    elif done.returncode != 0:
        raise CrfeError(_sentence(done.stderr) or f"{NAME} ended with code {done.returncode}", done.returncode)
    return done.stdout


def _sentence(said: str) -> str:
    """What went wrong, without the program's name and the lines on usage."""
    lines = said.strip().splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith((f"{NAME}: ", "error: "))), 0)
    sentence = "\n".join(lines[start:]).split("\n\nUsage:")[0].split("\n\nFor more information")[0]
    return sentence.removeprefix(f"{NAME}: ").removeprefix("error: ").strip()


def flags(options: dict[str, object]) -> Iterator[str]:
    """`cal_size=0.4, mondrian=True, keep=["age", "sex"]` as `--cal-size=0.4 --mondrian --keep=age,sex`."""
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield flag
        elif isinstance(value, (list, tuple)):
            yield f"{flag}={_listed(value)}"
        else:
            yield f"{flag}={value}"


def _listed(values: Iterable[object]) -> str:
    """Names with commas in quotes, as in CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()
