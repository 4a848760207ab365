"""Tables on which passes are counted and times are measured: more rows than the sample of the search, and digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from measure.accuracy.sample import orthonormal, plane
from measure.arrays import Array


def contaminated(rows: int = 20_000, features: int = 100, d: int = 5, seed: int = 0) -> Array:
    """Rows near a subspace, 10 % of them replaced by a cluster, with 5 % bad cells in the others."""
    rng = np.random.default_rng([seed, rows])
    basis = orthonormal(rng, features, d + 1)
    points = plane(rng, rows, basis[:, :d], np.linspace(3, 1.5, d), noise=0.1)
    outliers = rows // 10
    bad = rng.random(points.shape) < 0.05
    points[bad] = rng.uniform(-10, 10, bad.sum())
    points[:outliers] = 15 * basis[:, d] + 0.3 * rng.standard_normal((outliers, features))
    return rng.permutation(points)


def digits() -> Array:
    """Handwritten digits of 8 x 8 pixels, from scikit-learn."""
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().data, dtype=np.float64)


TABLES: dict[str, tuple[int, Callable[[], Array]]] = {
    "20000 x 100": (5, contaminated),
    "1797 x 64": (10, digits),
}
"""Number of components and data, by size."""
