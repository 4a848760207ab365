"""Random shapes, dtypes and memory orders against the NumPy reference implementation."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from steradian import PCA, AngularEmbedding

TOLERANCE = 1e-6
"""The tolerance of the engine; f32 arithmetic adds rounding errors."""


def layouts(X: np.ndarray) -> dict[str, np.ndarray]:
    """The table in several memory layouts."""
    n, features = X.shape
    padded = np.zeros((2 * n, 3 * features), X.dtype)
    padded[::2, ::3] = X
    packed = np.zeros(X.nbytes + 1, np.uint8)
    unaligned = packed[1:].view(X.dtype).reshape(X.shape)
    unaligned[...] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "C": X,
        "Fortran": np.asfortranarray(X),
        "strided": padded[::2, ::3],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
        "swapped": X.astype(X.dtype.newbyteorder()),
        "unaligned": unaligned,
        "read-only": read_only,
    }


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Samples with a few strong directions, noise and some outliers; and a number of components."""
    n, features = draw(st.integers(8, 70)), draw(st.integers(2, 40))
    d = draw(st.integers(1, min(4, features - 1, n - 2)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 3.0 ** -np.arange(features)
    X = rng.standard_normal((n, features)) * scale @ np.linalg.qr(rng.standard_normal((features, features)))[0]
    X += 0.02 * rng.standard_normal(X.shape)
    far = draw(st.integers(0, n // 5))
    X[:far] += 30 * rng.standard_normal(features)
    dtype = draw(st.sampled_from(["u1", "u2", "f4", "f8"]))
    if dtype in ("u1", "u2"):
        X = np.clip(20 * X + 120, 0, 255 if dtype == "u1" else 65535)
    return X.astype(dtype), d


@settings(max_examples=60)
@given(tables(), st.sampled_from(["auto", "scatter", "gram", "krylov"]), st.sampled_from(["C", "Fortran", "strided"]))
def test_paper_is_the_formula(made: tuple[np.ndarray, int], solver: str, order: str) -> None:
    X, d = made
    exact_data = X.astype(float)
    mu = exact_data.mean(axis=0)
    unit, has_one = oracle.directions(exact_data, mu)
    values, vectors, following = oracle.top(unit[has_one], d)
    assume(values[-1] - following > 1e-3)
    model = AngularEmbedding.paper(d).set_params(solver=solver).fit(layouts(X)[order])
    np.testing.assert_allclose(model.center_, mu, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.angular_eigenvalues_, values, atol=1e-5)
    assert oracle.sine(model.components_, vectors) < 2e-5
    assert model.sine_bound_ <= TOLERANCE
    assert model.converged_
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(d), atol=1e-12)
    np.testing.assert_array_equal(model.support_, has_one)
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(d), largest] > 0).all()


@settings(max_examples=40)
@given(tables(), st.floats(20, 89), st.booleans())
def test_cone_is_the_formula(made: tuple[np.ndarray, int], degrees: float, signed: bool) -> None:
    X, d = made
    X = X.astype(float)
    unit, has_one = oracle.directions(X, X.mean(axis=0))
    pivot, tau, support = oracle.cone(unit, has_one, degrees, signed)
    assume(support.sum() > d + 1)
    # A cosine that NumPy rounds to the other side of the threshold would change tau.
    cosines = np.abs(unit @ unit.T)
    assume(np.abs(cosines - np.cos(np.deg2rad(degrees))).min() > 1e-12)
    values, vectors, following = oracle.top(unit[support], d)
    assume(values[-1] - following > 1e-3)
    with pytest.warns(UserWarning, match="fewer than half") if 2 * support.sum() < len(X) else _nothing():
        model = AngularEmbedding.paper(d, degrees).set_params(cosine="signed" if signed else "abs").fit(X)
    assert model.pivot_ == pivot
    np.testing.assert_array_equal(model.tau_, tau)
    np.testing.assert_array_equal(model.support_, support)
    assert oracle.sine(model.components_, vectors) < 1e-5


@settings(max_examples=40)
@given(tables())
def test_scores_and_back(made: tuple[np.ndarray, int]) -> None:
    X, d = made
    model = AngularEmbedding.paper(d).fit(X)
    scores = model.transform(X)
    assert scores.dtype == (np.float64 if X.dtype == np.float64 else np.float32)
    exact = (X.astype(float) - model.center_) @ model.components_.T
    near = 1e-6 * max(1.0, np.abs(exact).max())
    np.testing.assert_allclose(scores, exact, atol=near)
    back = model.inverse_transform(scores)
    assert back.dtype == scores.dtype
    np.testing.assert_allclose(back, exact @ model.components_ + model.center_, atol=4 * near + 1e-6 * np.abs(X).max())
    # A point of the subspace comes back as itself.
    np.testing.assert_allclose(model.transform(back), scores, atol=20 * near + 1e-5 * float(np.abs(X).max()))


@settings(max_examples=25)
@given(tables())
def test_memory_layouts_give_identical_bytes(made: tuple[np.ndarray, int]) -> None:
    X, d = made
    for estimator in (AngularEmbedding.paper(d), AngularEmbedding(d, n_directions=20), PCA(d)):
        models = {name: clone(estimator).fit(view) for name, view in layouts(X).items()}
        expected = models["C"]._model.to_bytes()
        same = {name: model._model.to_bytes() == expected for name, model in models.items()}
        assert same == dict.fromkeys(models, True), estimator
    for name, view in layouts(X).items():
        np.testing.assert_array_equal(models["C"].transform(view), models["C"].transform(X), err_msg=name)


@settings(max_examples=25)
@given(tables())
def test_pca_is_the_formula(made: tuple[np.ndarray, int]) -> None:
    X, d = made
    exact = X.astype(float)
    values, vectors, following = oracle.top(exact - exact.mean(axis=0), d)
    assume(values[-1] - following > 1e-3 * values[0])
    model = PCA(d).fit(X)
    np.testing.assert_allclose(model.explained_variance_, values * len(X) / (len(X) - 1), rtol=1e-5)
    assert oracle.sine(model.components_, vectors) < 2e-5
    assert not hasattr(model, "angular_eigenvalues_")


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
