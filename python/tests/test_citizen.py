"""Conformance with scikit-learn's conventions for estimators."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA as TheirPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from steradian import (
    EMPCA,
    PCA,
    AngularEmbedding,
    ConeScreen,
    GrassmannAverage,
    IncrementalPCA,
    OutlyingnessScreen,
    PrincipalComponentPursuit,
)

ESTIMATORS = [
    AngularEmbedding(),
    AngularEmbedding.paper(2),
    AngularEmbedding.paper(2, 85),
    AngularEmbedding(2, method="cells"),
    AngularEmbedding(2, method="rows", missing="error"),
    AngularEmbedding(2, missing="drop"),
    AngularEmbedding(2, method="angular", scaling="mad"),
    AngularEmbedding(2, method="pca"),
    AngularEmbedding(2, method="angular", robust_scores=True, missing="error"),
    AngularEmbedding(2, method="angular", screen="outlyingness"),
    PCA(),
    PCA(missing="use"),
    PCA(whiten=True),
    PCA(svd_solver="full"),
    IncrementalPCA(),
    IncrementalPCA(whiten=True),
    EMPCA(),
    EMPCA(on_sphere=True),
    GrassmannAverage(),
    GrassmannAverage(trim=0.0),
    PrincipalComponentPursuit(),
    ConeScreen(),
    OutlyingnessScreen(),
]


@parametrize_with_checks(ESTIMATORS)
def test_checks_of_scikit_learn(estimator: AngularEmbedding, check: object) -> None:
    check(estimator)


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy, copy.copy])
def test_copies_are_the_same(table: np.ndarray, again: object) -> None:
    model = AngularEmbedding(2).fit(table)
    twin = again(model)
    np.testing.assert_array_equal(twin.transform(table), model.transform(table))
    np.testing.assert_array_equal(twin.explained_variance_ratio_, model.explained_variance_ratio_)
    assert twin._model.to_bytes() == model._model.to_bytes()
    assert twin.get_params() == model.get_params()


def test_a_clone_is_unfitted(table: np.ndarray) -> None:
    fresh = clone(AngularEmbedding(3, method="ae", center=np.zeros(6), verbose=False).fit(table))
    assert fresh.n_components == 3
    assert not hasattr(fresh, "components_")
    assert not hasattr(fresh, "explained_variance_ratio_")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(table: np.ndarray, kind: str) -> None:
    module = {"pandas": pd, "polars": pl}[kind]
    frame = module.DataFrame({f"f{j}": table[:, j] for j in range(6)})
    model = AngularEmbedding(2).set_output(transform=kind).fit(frame)
    scores = model.transform(frame)
    assert isinstance(scores, module.DataFrame)
    assert list(scores.columns) == ["angularembedding0", "angularembedding1"]
    assert list(model.get_feature_names_out()) == list(scores.columns)
    assert list(model.feature_names_in_) == [f"f{j}" for j in range(6)]
    np.testing.assert_array_equal(scores.to_numpy(), AngularEmbedding(2).fit(table).transform(table))
    if kind == "pandas":
        frame.index = range(1000, 1200)
        assert list(model.transform(frame).index) == list(frame.index)


def frames(table: np.ndarray) -> dict[str, object]:
    """The table as data frames of several kinds."""
    names = [f"f{j}" for j in range(table.shape[1])]
    pandas = pd.DataFrame(table, columns=names)
    in_pieces = pd.concat([pandas[[name]] for name in names], axis=1)
    mixed = pandas.assign(f1=pandas["f1"].astype(np.float32), f2=pandas["f2"].astype(np.int64))
    nullable = pandas.astype("Float64")
    polars = pl.DataFrame({name: table[:, j] for j, name in enumerate(names)})
    return {
        "pandas": pandas,
        "pandas in pieces": in_pieces,
        "pandas nullable": nullable,
        "pandas mixed": mixed,
        "pandas single": pandas.astype(np.float32),
        "polars": polars,
        "polars in chunks": pl.concat([polars[:50], polars[50:]], rechunk=False),
        "polars mixed": polars.with_columns(pl.col("f1").cast(pl.Float32), pl.col("f2").cast(pl.Int64)),
    }


@pytest.mark.parametrize("kind", frames(np.ones((60, 6))))
def test_frames_are_their_numbers(table: np.ndarray, kind: str) -> None:
    frame = frames(table)[kind]
    numbers = np.asarray(frame.to_numpy(), dtype=np.float32 if "single" in kind else np.float64)
    found, expected = AngularEmbedding(2).fit(frame), AngularEmbedding(2).fit(numbers)
    # The model of a frame also has the names of its features.
    for attribute in ("components_", "center_", "explained_variance_", "support_"):
        assert getattr(found, attribute).tobytes() == getattr(expected, attribute).tobytes(), attribute
    assert list(found.feature_names_in_) == [f"f{j}" for j in range(6)]


def test_grid_search_over_a_pipeline() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 120)
    X = rng.standard_normal((120, 8))
    X[:, 0] += 6 * y
    pipeline = make_pipeline(AngularEmbedding.paper(2, 80), LogisticRegression())
    grid = {"angularembedding__max_angle": [80.0, 85.0], "angularembedding__n_components": [1, 2, 3]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.9
    assert set(search.best_params_) == set(grid)


def test_a_drop_in_for_scikit_learns_pca() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 10)) * np.linspace(3, 0.5, 10)
    ours, theirs = PCA(3).fit(X), TheirPCA(3).fit(X)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    np.testing.assert_allclose(ours.mean_, theirs.mean_)
    signs = np.sign((ours.components_ * theirs.components_).sum(axis=1))
    np.testing.assert_allclose(ours.components_, theirs.components_ * signs[:, None], atol=1e-7)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X) * signs, atol=1e-6)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X)), atol=1e-6
    )


def test_html(table: np.ndarray) -> None:
    assert "AngularEmbedding" in AngularEmbedding(2).fit(table)._repr_html_()


def test_random_state_in_scikit_learns_way(table: np.ndarray) -> None:
    same = [AngularEmbedding(2, random_state=np.random.RandomState(3)).fit(table)._model.to_bytes() for _ in range(2)]
    assert same[0] == same[1]
    assert AngularEmbedding(2, random_state=None).fit(table).support_.sum() == 180
