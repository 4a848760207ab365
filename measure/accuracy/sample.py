"""The data of a case with their ground truth, and random draws that several models share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from measure.arrays import Array


@dataclass(frozen=True)
class Sample:
    """Data of a case and their ground truth."""

    points: Array
    """n x D, rows in random order; complete, see `observed`."""
    basis: Array
    """The true subspace, D x d, columns orthonormal."""
    outlier: Array
    """Whether a row is an outlier, n."""
    bad_cells: Array
    """Whether a cell is bad, n x D; no cell of an outlier is."""
    clean_points: Array
    """`points` without the bad cells; outliers are as in `points`."""
    missing: Array | None = None
    """Whether a cell is missing, n x D; None if the model has no missing cells."""
    true_variances: Array | None = None
    """True variances of the inliers along the subspace, largest first; None if undefined or with bad cells."""

    @property
    def components(self) -> int:
        """The number of components, d."""
        return int(self.basis.shape[1])

    @property
    def observed(self) -> Array:
        """The data that a method receives: `points` with NaN in the missing cells."""
        return self.points if self.missing is None else np.where(self.missing, np.nan, self.points)


@dataclass(frozen=True)
class Parts:
    """Inliers and outliers before they are shifted and shuffled."""

    good: Array
    bad: Array
    basis: Array
    true_variances: Array | None = None
    bad_cells: Array | None = None
    """Whether a cell of the inliers is bad; None without bad cells."""
    clean: Array | None = None
    """The inliers without bad cells; None without bad cells."""


PLANE = np.array([3, 2, 1.5])
"""Standard deviations along the subspace for d = 3."""


def orthonormal(rng: Generator, features: int, columns: int) -> Array:
    """A random orthonormal basis."""
    return np.linalg.qr(rng.standard_normal((features, columns)))[0]


def basis_and_direction(rng: Generator, features: int, columns: int) -> tuple[Array, Array]:
    """A random orthonormal basis and a unit vector orthogonal to it."""
    drawn = orthonormal(rng, features, columns + 1)
    return drawn[:, :columns], drawn[:, columns]


def plane(rng: Generator, n: int, basis: Array, deviations: Array, noise: float) -> Array:
    """Rows near a subspace."""
    D, d = basis.shape
    return (rng.standard_normal((n, d)) * deviations) @ basis.T + noise * rng.standard_normal((n, D))


def with_bad_cells(rng: Generator, rows: Array, fraction: float) -> tuple[Array, Array]:
    """Rows with a fraction of the cells replaced by uniform numbers from -10 to 10, and the mask of these cells."""
    bad = rng.random(rows.shape) < fraction
    rows = rows.copy()
    rows[bad] = rng.uniform(-10, 10, bad.sum())
    return rows, bad
