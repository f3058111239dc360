"""CRFE inside scikit-learn: its own checks, pipelines, cross-validation; and what CRFE 0.1.1 cannot do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import crfe_tui
from crfe_tui import CRFE

# scikit-learn's checks that CRFE is known not to pass, with the reason. None at present.
EXCEPTIONS: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore::crfe_tui.CrfeWarning")
@parametrize_with_checks([CRFE(splits=3), CRFE(1, splits=2)], expected_failed_checks=lambda estimator: EXCEPTIONS)
def test_scikit_learns_own_checks(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def planted() -> tuple[np.ndarray, np.ndarray]:
    """Of twelve columns, the first three tell the two classes apart."""
    y = np.repeat([0, 1], 120)
    X = np.random.default_rng(4).normal(size=(240, 12))
    X[:, :3] += 2.0 * y[:, None]
    return X, y


def test_planted_features_are_found(planted) -> None:
    X, y = planted
    selector = CRFE(3, splits=10).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2]
    assert selector.ranking_.tolist()[:3] == [1, 1, 1] and min(selector.ranking_[3:]) == 2
    assert selector.transform(X).tolist() == X[:, :3].tolist()
    assert selector.inverse_transform(X[:, :3]).shape == X.shape


def test_attributes_are_those_of_the_run(heart: Path) -> None:
    table = pd.read_csv(heart).select_dtypes("number").dropna()
    y = pd.read_csv(heart).loc[table.index, "class"]
    selector = CRFE(splits=5, random_state=7).fit(table, y)
    run = crfe_tui.run(table.assign(**{"class": y}), splits=5, seed=7, method="crfe", validate="none", permutations="none")
    assert selector.get_feature_names_out().tolist() == [name for name in table.columns if name in run.selected]
    mean = run.ranking.groupby("feature")["rank"].mean()
    assert selector.mean_rank_.tolist() == mean[list(table.columns)].tolist()
    frequency = {feature["name"]: feature["frequency"] for feature in run.answer["methods"][0]["features"]}
    assert {name: selector.frequency_[list(table.columns).index(name)] for name in run.selected} == frequency
    assert selector.n_features_ == len(run.selected)


def test_ranks_follow_the_mean_rank(planted) -> None:
    selector = CRFE(2, splits=4).fit(*planted)
    others = ~selector.support_
    order = np.argsort(selector.mean_rank_[others], kind="stable")
    assert (np.diff(selector.ranking_[others][order]) >= 0).all()
    assert selector.ranking_[others].min() == 2


def test_set_output_gives_named_columns(planted) -> None:
    X, y = planted
    frame = pd.DataFrame(X, columns=[f"gene, {column}" for column in range(12)])
    selected = CRFE(3, splits=4).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert selected.columns.tolist() == ["gene, 0", "gene, 1", "gene, 2"]


def test_gaps_are_filled_inside_the_splits(planted) -> None:
    X, y = planted
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    assert CRFE(3, splits=6).fit(gaps, y).get_support(indices=True).tolist() == [0, 1, 2]


def test_labels_of_any_kind(planted) -> None:
    X, y = planted
    for labels in (np.array(["NA", "x,y"])[y], y == 1, y - 0.0):
        assert CRFE(3, splits=4).fit(X, labels).get_support(indices=True).tolist() == [0, 1, 2]


def test_columns_that_are_set_aside_come_last(planted) -> None:
    X, y = planted
    X = np.column_stack([X, np.ones(len(X))])
    selector = CRFE(3, splits=4).fit(X, y)
    assert np.isnan(selector.mean_rank_[12]) and selector.ranking_[12] == selector.ranking_.max()


def test_refusals_are_value_errors_with_the_sentence(planted) -> None:
    X, y = planted
    with pytest.raises(crfe_tui.CrfeError, match="epsilon"):
        CRFE(epsilon=2.0).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        CRFE().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="has 12 features"):
        CRFE(13).fit(X, y)
    with pytest.raises(ValueError, match="at least 4 are needed"):
        CRFE().fit(X[:6], [0, 0, 0, 1, 1, 1])


def test_no_size_keeps_all_features_with_a_warning(planted) -> None:
    X, y = planted
    with pytest.warns(crfe_tui.CrfeWarning, match="chose no size"):
        assert CRFE(stop="none", splits=2).fit(X, y).support_.all()


def test_the_seed_decides(planted) -> None:
    X, y = planted
    ranks = [CRFE(3, splits=2, random_state=seed).fit(X, y).mean_rank_.tolist() for seed in (1, 1, 2)]
    assert ranks[0] == ranks[1] != ranks[2]
    drawn = [CRFE(3, splits=2, random_state=np.random.RandomState(5)).fit(X, y).mean_rank_.tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_cross_validation_selects_without_the_test_rows() -> None:
    """Noise: selecting on all rows first makes accuracy look good; inside the Pipeline it is that of a coin."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 1500)), np.repeat([0, 1], 30)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    inside = cross_val_score(make_pipeline(CRFE(24, splits=3, step="half"), LinearSVC()), X, y, cv=folds).mean()
    outside = cross_val_score(LinearSVC(), CRFE(24, splits=3, step="half").fit_transform(X, y), y, cv=folds).mean()
    assert 0.3 < inside < 0.7 < outside


def test_parameters_can_be_searched(planted) -> None:
    X, y = planted
    pipeline = Pipeline([("select", CRFE(splits=2)), ("svm", LinearSVC())])
    search = GridSearchCV(pipeline, {"select__n_features_to_select": [1, 3], "select__C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["select__n_features_to_select"] == 3
    assert search.best_score_ > 0.9


def test_what_crfe_0_1_1_cannot_do(planted) -> None:
    """The package of the authors' group cannot be cloned, so neither Pipeline nor cross_val_score can take it; this selector can."""
    theirs = pytest.importorskip("CRFE", reason="CRFE 0.1.1 is not installed").CRFE(LinearSVC(), 3)
    X, y = planted
    with pytest.raises(RuntimeError, match="Cannot clone"):
        clone(theirs)
    with pytest.raises(TypeError):
        make_pipeline(theirs, LinearSVC()).fit(X, y)

    ours = CRFE(3, splits=3)
    assert clone(ours).get_params() == ours.get_params()
    assert make_pipeline(clone(ours), LinearSVC()).fit(X, y).score(X, y) > 0.9
    assert cross_val_score(make_pipeline(ours, LinearSVC()), X, y, cv=3).mean() > 0.9
