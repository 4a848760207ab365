"""Estimators that replace scikit-learn's, where its own tests have no case: signatures, lazy data, files, limits."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.decomposition
from sklearn.base import clone

import steradian
from steradian import PCA, IncrementalPCA

dask_array = pytest.importorskip("dask.array")

X = np.random.default_rng(11).standard_normal((120, 8)) @ np.diag([9.0, 7, 5, 3, 2, 1, 0.5, 0.2]) + 4
WIDE = np.random.default_rng(12).standard_normal((15, 40)) * np.linspace(3, 1, 40)
ATTRIBUTES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
    "n_components_",
    "n_features_in_",
)


def require_same(ours: Any, theirs: Any, tolerance: float = 1e-8) -> None:
    for name in ATTRIBUTES:
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=tolerance, atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("name", ["PCA", "IncrementalPCA"])
def test_the_first_parameters_are_those_of_scikit_learn(name: str) -> None:
    ours = list(inspect.signature(getattr(steradian, name)).parameters.values())
    theirs = list(inspect.signature(getattr(sklearn.decomposition, name)).parameters.values())
    found = [(p.name, p.default, p.kind) for p in ours[: len(theirs)]]
    assert found == [(p.name, p.default, p.kind) for p in theirs]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in ours[len(theirs) :])


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("count", [None, 0, 3, 0.9, "mle"])
@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
def test_numbers_are_those_of_scikit_learn(table: np.ndarray, count: Any, whiten: bool) -> None:
    if count == "mle" and table is WIDE:
        pytest.skip("evidence needs as many samples as features")
    ours = PCA(count, whiten=whiten).fit(table)
    theirs = sklearn.decomposition.PCA(count, whiten=whiten, svd_solver="full").fit(table)
    real = theirs.explained_variance_ > 1e-12  # components without variance are arbitrary
    ours_real, theirs_real = ours.components_[real], theirs.components_[real]
    np.testing.assert_allclose(ours_real, theirs_real, atol=1e-8)
    np.testing.assert_allclose(ours.components_ @ ours.components_.T, np.eye(ours.n_components_), atol=1e-10)
    for name in set(ATTRIBUTES) - {"components_"}:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10, err_msg=name)
    assert ours.n_samples_ == theirs.n_samples_
    np.testing.assert_allclose(ours.transform(table)[:, real], theirs.transform(table)[:, real], atol=1e-7)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-8)
    if theirs.noise_variance_ > 0:
        np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(ours.score_samples(table), theirs.score_samples(table), rtol=1e-8)
    if ours.n_components_:
        np.testing.assert_allclose(
            ours.inverse_transform(ours.transform(table)), theirs.inverse_transform(theirs.transform(table)), atol=1e-7
        )


def test_components_beyond_the_rank() -> None:
    low = X[:, :2] @ np.random.default_rng(1).standard_normal((2, 8))
    model = PCA(5).fit(low)
    assert model.components_.shape == (5, 8)
    np.testing.assert_allclose(model.explained_variance_[2:], 0, atol=1e-12)
    np.testing.assert_allclose(model.transform(low)[:, 2:], 0, atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(low)), low, atol=1e-10)
    # Distances and predictions are those of the components with variance.
    np.testing.assert_array_equal(model.predict(low), PCA(2).fit(low).predict(low))
    with pytest.raises(ValueError, match="data on a cluster need a model with all 5 components; it has 2"):
        model.transform(dask_array.from_array(low))
    with pytest.raises(ValueError, match="robust scores need a model with all 5 components"):
        model.transform(low, robust_scores=True)
    with pytest.raises(ValueError, match="X has 4 scores per sample, but 5 components were fitted"):
        model.inverse_transform(np.ones((3, 4)))


def test_all_components_of_a_large_wide_table() -> None:
    table = np.random.default_rng(4).standard_normal((150, 2100)) * np.linspace(3, 1, 2100)
    model = PCA().fit(table)
    require_same(PCA(80).fit(table), sklearn.decomposition.PCA(80, svd_solver="full").fit(table))
    assert model.components_.shape == (150, 2100)
    np.testing.assert_allclose(model.inverse_transform(model.transform(table)), table, atol=1e-9)
    words = "150 components of 150 samples of 2100 features has only scores and a likelihood; .* at most 75 components"
    with pytest.raises(ValueError, match=words):
        model.predict(table)
    assert len(PCA(75).fit(table).predict(table)) == 150
    narrow = table[:, :300]
    assert len(PCA().fit(narrow).predict(narrow)) == 150


def test_a_limit_on_memory_keeps_the_engines_error() -> None:
    low = np.repeat(X[:, :1], 300, axis=0) @ np.ones((1, 8))
    assert PCA(4).fit(low).n_components_ == 4
    with pytest.raises(ValueError, match="n_components = 4 exceeds the rank 1 of the centered data; use at most 1"):
        PCA(4, memory_limit="6M").fit(low)


def test_a_fraction_may_need_many_components() -> None:
    table = np.random.default_rng(2).standard_normal((300, 60))
    ours, theirs = PCA(0.95).fit(table), sklearn.decomposition.PCA(0.95, svd_solver="full").fit(table)
    assert ours.n_components_ == theirs.n_components_ > 30
    assert len(ours._model.components) == ours.n_components_


def test_lazy_data() -> None:
    lazy = dask_array.from_array(X, chunks=(50, -1))
    whole, ours = PCA(whiten=True).fit(X), PCA(whiten=True).fit(lazy)
    require_same(ours, whole)
    scores = ours.transform(lazy)
    assert isinstance(scores, dask_array.Array)
    np.testing.assert_allclose(scores.compute(), whole.transform(X), atol=1e-8)
    # Without a copy in memory there are no components beyond the rank.
    assert PCA().fit(dask_array.from_array(WIDE)).n_components_ == 14


@pytest.mark.parametrize("single", [False, True])
def test_files(tmp_path: Path, single: bool) -> None:
    table = X.astype(np.float32) if single else X
    np.save(tmp_path / "x.npy", table)
    model = PCA(3).fit(tmp_path / "x.npy")
    require_same(model, PCA(3).fit(table), 1e-6)
    assert model.components_.dtype == model.mean_.dtype == table.dtype
    np.testing.assert_allclose(model.score(tmp_path / "x.npy"), PCA(3).fit(table).score(table), rtol=1e-6)
    incremental = IncrementalPCA(3, batch_size=50).fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(incremental.components_, IncrementalPCA(3, batch_size=50).fit(table).components_)
    model.save(tmp_path / "model")
    require_same(PCA.load(tmp_path / "model"), model, 1e-6)
    model.set_params(whiten=True)
    with pytest.raises(ValueError, match="a model file has no whitening; pickle the estimator"):
        model.save(tmp_path / "model")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(table), model.transform(table))


@pytest.mark.parametrize(("features", "solver"), [(20, "auto"), (20, "covariance_eigh"), (2500, "auto")])
def test_sparse_data(features: int, solver: str) -> None:
    sparse = scipy.sparse.random(60, features, density=0.3, format="csr", random_state=3)
    ours = PCA(4, svd_solver=solver).fit(sparse)
    require_same(ours, sklearn.decomposition.PCA(4, svd_solver="full").fit(sparse.toarray()))
    np.testing.assert_allclose(ours.transform(sparse), ours.transform(sparse.toarray()), atol=1e-10)
    np.testing.assert_allclose(PCA(4).fit_transform(sparse), ours.transform(sparse), atol=1e-8)
    for use in (ours.predict, ours.diagnose, ours.impute, ours.decision_function):
        with pytest.raises(ValueError, match="a fit with sparse data has only scores and a likelihood; fit dense data"):
            use(sparse.toarray())


def test_the_likelihood_needs_complete_rows() -> None:
    table = X.copy()
    table[3, 2] = np.nan
    model = PCA(2, missing="use").fit(table)
    with pytest.raises(ValueError, match=r"rows 0 to 119 have missing cells \(NaN\).*impute"):
        model.score_samples(table)
    assert np.isfinite(model.score(model.impute(table)))


def test_the_decision_is_by_distances() -> None:
    model = PCA(2).fit(X)
    np.testing.assert_array_equal(model.decision_function(X) < 0, model.predict(X) == -1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"svd_solver": "fast"}, "svd_solver = 'fast' is not supported; expected 'auto', 'full'"),
        ({"n_components": -1}, "n_components = -1; use at least 0"),
        (
            {"n_components": 1.0},
            r"n_components = 1.0 is not supported; expected an integer >= 0, a fraction in \(0, 1\)",
        ),
        ({"n_components": 9}, r"n_components=9 must be between 0 and min\(n_samples, n_features\)=8 .*; use at most 8"),
        ({"n_oversamples": 0}, "n_oversamples = 0 is not supported; expected an integer >= 1"),
        ({"iterated_power": "none"}, "iterated_power = 'none' is not supported; expected 'auto', or an integer >= 0"),
        ({"power_iteration_normalizer": "qr"}, "power_iteration_normalizer = 'qr' is not supported"),
        ({"whiten": None}, "whiten = None is not supported; expected True or False"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PCA(**wrong).fit(X)


@pytest.mark.parametrize("batch_size", [None, 13, 40])
@pytest.mark.parametrize("count", [None, 3, 8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_are_those_of_scikit_learn(dtype: Any, count: int | None, batch_size: int | None) -> None:
    table = X.astype(dtype)
    ours = IncrementalPCA(count, batch_size=batch_size, whiten=True).fit(table)
    theirs = sklearn.decomposition.IncrementalPCA(count, batch_size=batch_size, whiten=True).fit(table)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    require_same(ours, theirs, tolerance)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=tolerance)
    assert (ours.n_samples_seen_, ours.batch_size_) == (theirs.n_samples_seen_, theirs.batch_size_)
    assert ours.components_.dtype == ours.transform(table).dtype == dtype
    np.testing.assert_allclose(ours.transform(table), theirs.transform(table), atol=100 * tolerance)


def test_a_failed_batch_changes_nothing() -> None:
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = IncrementalPCA(2).partial_fit(frame[:60])
    assert list(model.feature_names_in_) == list("abcdefgh")
    before = pickle.dumps(model)
    bad = frame[60:].copy()
    bad.iloc[7, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN in 1 of the rows 0 to 59, first in row 7; drop or fill"):
        model.partial_fit(bad)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[60:].rename(columns={"a": "z"}))
    assert pickle.dumps(model) == before
    fresh = clone(model)
    with pytest.raises(ValueError, match="contains NaN"):
        fresh.partial_fit(bad)
    assert not hasattr(fresh, "n_features_in_")


def test_data_are_not_modified() -> None:
    table = X.copy()
    for estimator in (PCA(copy=False), PCA(20, copy=False), IncrementalPCA(copy=False)):
        wide = WIDE.copy()
        estimator.set_params(n_components=None).fit(table).transform(table)
        estimator.fit(wide)
        np.testing.assert_array_equal(wide, WIDE)
    np.testing.assert_array_equal(table, X)
