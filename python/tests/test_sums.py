"""Passes by hand: sums of parts merge to what one machine finds, and what does not belong together is refused."""

from __future__ import annotations

import numpy as np
import pytest

from steradian import PCA, AngularEmbedding, sums


def _table(n: int = 2000, features: int = 5) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, features)) * np.arange(1, features + 1) + 100


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("cut", [256, 1024, 1792])
def test_parts_on_the_grid_give_the_bits_of_one_machine(dtype: type, cut: int) -> None:
    X = _table().astype(dtype)
    mean = sums.mean(5)
    here, there = mean.sum(X[:cut], 0, n_samples=2000), mean.sum(X[cut:], cut, n_samples=2000, n_jobs=1)
    total = mean.merge(here, sums.Sum.from_bytes(there.to_bytes()))
    assert (here.rows, total.rows) == ((0, cut), (0, 2000))
    center = mean.finish(total, 2000)
    np.testing.assert_array_equal(center, AngularEmbedding.paper(1).fit(X).center_)
    scatter = sums.scatter(center)
    parts = [scatter.sum(X[a:b], a, n_samples=2000) for a, b in [(0, 256), (256, cut), (cut, 2000)] if a < b]
    whole = scatter.sum(X, 0, n_samples=2000)
    np.testing.assert_array_equal(scatter.finish(scatter.merge(*parts), 2000), scatter.finish(whole, 2000))


def test_parts_anywhere_give_the_same_up_to_rounding_and_their_matrix_is_that_of_pca() -> None:
    X = _table()
    mean = sums.mean(5)
    parts = [(0, 1), (1, 700), (700, 701), (701, 2000)]
    center = mean.finish(mean.merge(*[mean.sum(X[a:b], a) for a, b in parts]), 2000)
    np.testing.assert_allclose(center, X.mean(axis=0), rtol=1e-14)
    scatter = sums.scatter(center, directions=False)
    matrix = scatter.finish(scatter.merge(*[scatter.sum(X[a:b], a) for a, b in parts]), 2000)
    np.testing.assert_allclose(matrix * 2000 / 1999, np.cov(X.T), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(matrix)[::-1][:2] * 2000 / 1999, PCA(2).fit(X).explained_variance_, rtol=1e-9
    )


def test_what_does_not_belong_together_is_refused() -> None:
    X = _table()
    mean, scatter = sums.mean(5), sums.scatter(np.zeros(5))
    here = mean.sum(X[:512], 0, n_samples=2000)
    with pytest.raises(ValueError, match="multiples of 256"):
        mean.sum(X[:500], 0, n_samples=2000)
    with pytest.raises(ValueError, match="multiples of 256"):
        mean.sum(X[:600], 100, n_samples=2000)
    with pytest.raises(ValueError, match="no whole cells of the grid of 500 samples"):
        mean.sum(X[:512], 0, n_samples=500)
    with pytest.raises(ValueError, match="same way"):
        mean.merge(here, mean.sum(X[512:], 512))
    with pytest.raises(ValueError, match="another pass"):
        scatter.merge(here, here)
    with pytest.raises(ValueError, match="no neighbours"):
        mean.merge(here, here)
    with pytest.raises(ValueError, match="merge the sums of all parts"):
        mean.finish(here, 2000)
    with pytest.raises(ValueError, match="no sums to merge"):
        mean.merge()
    with pytest.raises(ValueError, match="X has 4 features, but the pass is expecting 5"):
        mean.sum(X[:, :4], 0)
    with pytest.raises(ValueError, match="not a sum"):
        sums.Sum.from_bytes(b"\xff")
    X[1999, 2] = np.nan
    with pytest.raises(ValueError, match="row 1999"):
        mean.sum(X[512:], 512, n_samples=2000)
