"""Extreme numbers: every scale, cells near the largest float, and arrays that change during a fit."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

from steradian import PCA, AngularEmbedding


@pytest.fixture
def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(120, 3)) @ rng.normal(size=(3, 8)) + 0.1 * rng.normal(size=(120, 8))


@pytest.mark.parametrize("power", [-480, -200, 200, 480])
def test_a_power_of_two_changes_units_only(rows: np.ndarray, power: int) -> None:
    for estimator in [PCA(2), AngularEmbedding(2), AngularEmbedding(2, method="angular")]:
        base = estimator.fit(rows)
        components, variance = base.components_.copy(), base.explained_variance_.copy()
        found = estimator.fit(np.ldexp(rows, power))
        np.testing.assert_array_equal(found.components_, components)
        np.testing.assert_allclose(np.ldexp(found.explained_variance_, -2 * power), variance, rtol=1e-12)


def test_variances_beyond_the_range_are_rejected(rows: np.ndarray) -> None:
    with pytest.raises(ValueError, match="outside of the range of f64"):
        AngularEmbedding(2).fit(rows * 1e300)


def test_cells_near_the_largest_float_are_no_panic(rows: np.ndarray) -> None:
    rows[60, 2] = 1.7e308
    assert np.isfinite(AngularEmbedding(2).fit(rows).components_).all()


def test_an_array_that_changes_gives_an_error_or_a_result(rows: np.ndarray) -> None:
    """`except Exception` must catch whatever is raised."""
    stop = threading.Event()

    def rewrite() -> None:
        rng = np.random.default_rng(4)
        while not stop.is_set():
            rows[:] = rng.normal(size=rows.shape)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(30):
                try:
                    found = AngularEmbedding(2, method="angular", center="median", scaling="mad", n_jobs=1).fit(rows)
                    assert np.isfinite(found.components_).all()
                except (ValueError, RuntimeError):  # noqa: PERF203
                    pass
    finally:
        stop.set()
        thread.join()
