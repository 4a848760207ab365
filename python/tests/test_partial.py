"""Partial results: parts merge to the result of one machine, and mismatched parts are rejected."""

from __future__ import annotations

import numpy as np
import pytest

from steradian import PCA, AngularEmbedding, partial


def _table(n: int = 2000, features: int = 5) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, features)) * np.arange(1, features + 1) + 100


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("cut", [256, 1024, 1792])
def test_parts_on_the_grid_are_bitwise_identical_to_one_machine(dtype: type, cut: int) -> None:
    X = _table().astype(dtype)
    mean = partial.mean(5)
    here, there = mean.sum(X[:cut], 0, n_samples=2000), mean.sum(X[cut:], cut, n_samples=2000, n_jobs=1)
    total = mean.merge(here, partial.PartialResult.from_bytes(there.to_bytes()))
    assert (here.rows, total.rows) == ((0, cut), (0, 2000))
    center = mean.finish(total, 2000)
    np.testing.assert_array_equal(center, AngularEmbedding.paper(1).fit(X).center_)
    scatter = partial.scatter(center)
    parts = [scatter.sum(X[a:b], a, n_samples=2000) for a, b in [(0, 256), (256, cut), (cut, 2000)] if a < b]
    whole = scatter.sum(X, 0, n_samples=2000)
    np.testing.assert_array_equal(scatter.finish(scatter.merge(*parts), 2000), scatter.finish(whole, 2000))


def test_parts_off_the_grid_agree_up_to_rounding_with_pca() -> None:
    X = _table()
    mean = partial.mean(5)
    parts = [(0, 1), (1, 700), (700, 701), (701, 2000)]
    center = mean.finish(mean.merge(*[mean.sum(X[a:b], a) for a, b in parts]), 2000)
    np.testing.assert_allclose(center, X.mean(axis=0), rtol=1e-14)
    scatter = partial.scatter(center, normalize=False)
    matrix = scatter.finish(scatter.merge(*[scatter.sum(X[a:b], a) for a, b in parts]), 2000)
    np.testing.assert_allclose(matrix * 2000 / 1999, np.cov(X.T), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(matrix)[::-1][:2] * 2000 / 1999, PCA(2).fit(X).explained_variance_, rtol=1e-9
    )


def test_mismatched_parts_are_rejected() -> None:
    X = _table()
    mean, scatter = partial.mean(5), partial.scatter(np.zeros(5))
    here = mean.sum(X[:512], 0, n_samples=2000)
    with pytest.raises(ValueError, match="multiples of 256"):
        mean.sum(X[:500], 0, n_samples=2000)
    with pytest.raises(ValueError, match="multiples of 256"):
        mean.sum(X[:600], 100, n_samples=2000)
    with pytest.raises(ValueError, match="not aligned to the reduction grid of 500 samples"):
        mean.sum(X[:512], 0, n_samples=500)
    with pytest.raises(ValueError, match="same way"):
        mean.merge(here, mean.sum(X[512:], 512))
    with pytest.raises(ValueError, match="another pass"):
        scatter.merge(here, here)
    with pytest.raises(ValueError, match="must be adjacent and in order"):
        mean.merge(here, here)
    with pytest.raises(ValueError, match="merge all parts first"):
        mean.finish(here, 2000)
    with pytest.raises(ValueError, match="no partial results to merge"):
        mean.merge()
    with pytest.raises(ValueError, match="X has 4 features, but the pass is expecting 5"):
        mean.sum(X[:, :4], 0)
    with pytest.raises(ValueError, match="not a partial result"):
        partial.PartialResult.from_bytes(b"\xff")
    X[1999, 2] = np.nan
    with pytest.raises(ValueError, match="row 1999"):
        mean.sum(X[512:], 512, n_samples=2000)
