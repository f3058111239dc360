"""Conformal recursive feature elimination: runs the program crfe-tui and returns its results as pandas objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._program import CrfeError, CrfeWarning, program, version
from ._results import Run, fit, predict, read, run, validate

if TYPE_CHECKING:
    from ._selector import CRFE

__all__ = ["CRFE", "CrfeError", "CrfeWarning", "Run", "fit", "predict", "program", "read", "run", "validate", "version"]


def __getattr__(name: str) -> object:
    """The selector on demand: the rest of the module does not need scikit-learn."""
    if name == "CRFE":
        from ._selector import CRFE

        return CRFE
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
