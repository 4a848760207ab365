"""Explained-variance ratios of every estimator, also after files and pickles."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA as TheirPCA

import steradian
from steradian import EMPCA, PCA, AngularEmbedding, GrassmannAverage, PrincipalComponentPursuit

if TYPE_CHECKING:
    from collections.abc import Callable

ESTIMATORS: dict[str, Any] = {
    "pca": PCA(2),
    "ae": AngularEmbedding.paper(2),
    "tae": AngularEmbedding.paper(2, 80),
    "angular": AngularEmbedding(2, method="angular"),
    "robust": AngularEmbedding(2),
    "robust scaled": AngularEmbedding(2, scaling="mad"),
    "cells": AngularEmbedding(2, method="cells"),
    "empca": EMPCA(2),
    "emae": EMPCA(2, on_sphere=True),
    "ga": GrassmannAverage(2, trim=0.0),
    "tga": GrassmannAverage(2),
    "pcp": PrincipalComponentPursuit(2),
}
WITH_FRACTIONS = [name for name in ESTIMATORS if name not in ("empca", "emae", "ga", "tga", "pcp")]
KINDS = ["clean", "contaminated", "rank-deficient", "heavy-tailed", "mostly zero"]


def samples(kind: str, seed: int = 0, n: int = 80, features: int = 10) -> np.ndarray:
    """Samples of a kind."""
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((n, 2)) * [5, 3] @ rng.standard_normal((2, features))
    X = low + 0.3 * rng.standard_normal((n, features))
    if kind == "contaminated":
        X[: n // 5] = 60 * rng.standard_normal(features) + rng.standard_normal((n // 5, features))
    elif kind == "rank-deficient":
        X = low
    elif kind == "heavy-tailed":
        X *= rng.standard_t(1.5, (n, 1))
    elif kind == "mostly zero":
        X *= rng.random((n, features)) < 0.3
    return X


def fitted(estimator: Any, X: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X)


def require_ratios(ratio: np.ndarray) -> None:
    assert (ratio >= 0).all()
    assert (ratio <= 1).all()
    assert ratio.sum() <= 1 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_ratios_sum_to_at_most_1(name: str, kind: str) -> None:
    require_ratios(fitted(ESTIMATORS[name], samples(kind)).explained_variance_ratio_)


@given(
    name=st.sampled_from(sorted(ESTIMATORS)),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(20, 60),
    features=st.integers(3, 15),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_ratios_of_any_table(name: str, kind: str, seed: int, n: int, features: int, dtype: str) -> None:
    X = samples(kind, seed, n, features).astype(dtype)
    try:
        model = fitted(ESTIMATORS[name], X)
    except ValueError as error:  # a narrow cone or cleaned cells may leave fewer directions
        assert "n_components" in str(error) or (name == "cells" and "no direction to find" in str(error))  # noqa: PT017
        return
    require_ratios(model.explained_variance_ratio_)


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("solver", ["scatter", "gram", "krylov"])
@pytest.mark.parametrize("kind", KINDS)
def test_ratios_of_pca_are_those_of_scikit_learn(kind: str, solver: str, dtype: str) -> None:
    X = samples(kind, 3)
    if dtype == "uint8":
        X = 255 * (X - X.min()) / (X.max() - X.min())
    X = X.astype(dtype)
    theirs = TheirPCA(2, svd_solver="full").fit(X.astype(float))
    ours = PCA(2, solver=solver).fit(X)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-6)


@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", KINDS)
def test_fractions_of_pca_are_those_of_scikit_learn(kind: str, fraction: float) -> None:
    X = samples(kind, 4)
    ours, theirs = PCA(fraction).fit(X), TheirPCA(fraction, svd_solver="full").fit(X)
    assert ours.n_components_ == theirs.n_components_
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-6)


@pytest.mark.parametrize("name", WITH_FRACTIONS)
def test_fractions_work_on_tables_of_low_rank(name: str) -> None:
    model = fitted(clone(ESTIMATORS[name]).set_params(n_components=0.95), samples("rank-deficient", 5))
    assert model.n_components_ <= 2
    assert 0.95 <= model.explained_variance_ratio_.sum() <= 1 + 1e-12


def saved(model: Any, folder: Path) -> Any:
    model.save(folder / "model")
    return steradian.load(folder / "model")


@pytest.mark.parametrize(
    "again",
    [saved, lambda model, _: pickle.loads(pickle.dumps(model)), lambda model, _: copy.deepcopy(model)],
    ids=["file", "pickle", "copy"],
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_ratios_are_stored(name: str, again: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    # More values than one block of the computation of the total.
    X = (
        np.random.default_rng(6).standard_normal((700, 400)) * np.linspace(3, 1, 400)
        if name == "ae"
        else samples("clean")
    )
    model = fitted(ESTIMATORS[name], X)
    twin = again(model, tmp_path)
    np.testing.assert_array_equal(twin.explained_variance_ratio_, model.explained_variance_ratio_)


def test_the_robust_total_by_its_definition(table: np.ndarray) -> None:
    """The sum of the variances, and m^3 + 3 m s^2 with m and s of the bulk of OD^(2/3)."""
    model = AngularEmbedding(2, method="angular", screen="outlyingness").fit(table)
    centered = table[model.support_] - model.center_
    y = np.linalg.norm(centered - centered @ model.components_.T @ model.components_, axis=1) ** (2 / 3)
    y.sort()
    h = len(y) // 2 + 1
    best = min((y[i : i + h] for i in range(len(y) - h + 1)), key=np.var)
    m, s = best.mean(), best.std() / np.sqrt(0.1426326)
    for _ in range(4):
        near = y[np.abs(y - m) <= 2.5 * s]
        m, s = near.mean(), near.std() / np.sqrt(0.9105)
    total = model.explained_variance_.sum() + m**3 + 3 * m * s**2
    np.testing.assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / total, rtol=1e-8)


def test_a_file_without_a_total_is_an_error(table: np.ndarray, tmp_path: Path) -> None:
    AngularEmbedding(2).fit(table).save(tmp_path / "new")
    content = (tmp_path / "new").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    metadata = json.loads(header["__metadata__"]["steradian"])
    header["__metadata__"]["steradian"] = json.dumps(metadata | {"total_variance": None})
    text = json.dumps(header).encode()
    (tmp_path / "old").write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    model = AngularEmbedding.load(tmp_path / "old")
    with pytest.raises(AttributeError, match="older version has no total variance; fit again"):
        model.explained_variance_ratio_  # noqa: B018
