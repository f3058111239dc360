"""CRFE as a scikit-learn selector, on top of the program."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._program import CrfeError, CrfeWarning
from ._results import run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

USAGE = 2


class CRFE(SelectorMixin, BaseEstimator):
    """Feature selector by conformal recursive feature elimination over many random splits of the rows.

    Parameters
    ----------
    n_features_to_select : how many features; None lets `stop` choose.
    stop : rule for the size: "1se", "knee", "beta", "cv" or "proximity".
    splits : number of random splits.
    method : "crfe", "rfe", "smfs" or "acm".
    estimator : "linear", "rcs:3" to "rcs:5", or "rbf".
    C : cost of the support vector machines.
    lam : λ, weight of a candidate's own machine in the non-conformity, 0 to 1.
    epsilon : prediction sets hold the true class with probability at least 1 - epsilon.
    step : features removed at once: a count, a fraction, or "half".
    scale, impute : how columns are scaled and gaps filled inside each split.
    random_state : seed of the splits.
    n_jobs : threads; None is 1, -1 all.
    options : further options of `crfe-tui run`, for example {"class_weight": "balanced"}.

    Attributes
    ----------
    support_ : mask of the selected features. If `stop` chooses no size, all features are kept, with a warning.
    ranking_ : 1 for selected features; then 2, 3, … by mean rank over the splits, equal means sharing a rank.
    mean_rank_ : mean rank over the splits; NaN for columns that the program sets aside: constant, mostly missing, or numbering the rows.
    frequency_ : share of the splits that keep the feature at the chosen size.
    n_features_ : number of selected features.
    answer_ : the answer of the run, as `crfe-tui run --json` prints it.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    """

    def __init__(
        self,
        n_features_to_select: int | None = None,
        *,
        stop: str = "1se",
        splits: int = 20,
        method: str = "crfe",
        estimator: str = "linear",
        C: float = 1.0,
        lam: float = 0.5,
        epsilon: float = 0.1,
        step: int | float | str = 1,
        scale: str = "standard",
        impute: str = "knn:5",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.stop = stop
        self.splits = splits
        self.method = method
        self.estimator = estimator
        self.C = C
        self.lam = lam
        self.epsilon = epsilon
        self.step = step
        self.scale = scale
        self.impute = impute
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

    def fit(self, X: ArrayLike, y: ArrayLike) -> CRFE:
        """Selects features of X (numbers, gaps allowed) for the classes y."""
        rows: NDArray[np.float64]
        labels: NDArray[Any]
        rows, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2, ensure_min_features=2
        )
        check_classification_targets(labels)
        self.classes_, coded = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"CRFE needs two classes or more, and y has one class: {self.classes_[0]!r}")
        if self.n_features_to_select is not None and self.n_features_to_select > rows.shape[1]:
            raise CrfeError(f"n_features_to_select is {self.n_features_to_select}, but X has {rows.shape[1]} features", USAGE)
        names = [f"x{column}" for column in range(rows.shape[1])]
        table = pd.DataFrame(rows, columns=names)
        table["class"] = [f"class {code}" for code in coded]
        with tempfile.TemporaryDirectory(prefix="crfe-tui-") as out:
            done = run(table, out=out, **self._options())
            self.answer_ = done.answer
            self._keep(names, done.selected, done.ranking, done.selection)
        return self

    def _options(self) -> dict[str, object]:
        """The parameters as options of the program. Validation and permutations test the list and do not choose it: only if asked for."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31)
        chosen: dict[str, object] = {
            "target": "class",
            "method": self.method,
            "stop": self.stop if self.n_features_to_select is None else self.n_features_to_select,
            "splits": self.splits,
            "estimator": self.estimator,
            "cost": self.C,
            "lambda": self.lam,
            "epsilon": self.epsilon,
            "step": self.step,
            "scale": self.scale,
            "impute": self.impute,
            "seed": seed,
            "threads": None if self.n_jobs == -1 else self.n_jobs or 1,
            "validate": "none",
            "permutations": "none",
        }
        return chosen | dict(self.options or {})

    def _keep(self, names: list[str], selected: list[str], ranking: pd.DataFrame, selection: pd.DataFrame) -> None:
        """Sets the attributes from what the run found."""
        if not selected:
            message = f"the rule {self.stop} chose no size, so all features are kept; set n_features_to_select"
            warnings.warn(message, CrfeWarning, stacklevel=3)
            selected = names
        mean_rank = ranking.groupby("feature")["rank"].mean()
        frequency = selection[selection["n_features"] == len(selected)].set_index("feature")["frequency"]
        self.mean_rank_: NDArray[Any] = mean_rank.reindex(names).to_numpy(dtype=np.float64)
        self.frequency_: NDArray[Any] = frequency.reindex(names).fillna(0.0).to_numpy(dtype=np.float64)
        self.support_: NDArray[np.bool_] = np.isin(names, selected)
        self.n_features_ = int(self.support_.sum())
        order = np.where(self.support_, 0.0, np.nan_to_num(self.mean_rank_, nan=np.inf))
        self.ranking_: NDArray[np.intp] = np.unique(order, return_inverse=True)[1] + 1

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags
