"""Contamination models with bad rows or bad cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from measure.accuracy.sample import (
    PLANE,
    Parts,
    Sample,
    basis_and_direction,
    orthonormal,
    plane,
    with_bad_cells,
)
from measure.arrays import Array

LEGEND = {
    "hay": ("fraction, scale", "200 x 50, d = 5", "outliers in all directions (haystack)"),
    "low": ("fraction, shift, shrinkage", "100 x 4, d = 3", "a shifted group, few features (Hubert et al. 2005)"),
    "high": ("fraction, shift, shrinkage", "50 x 100, d = 5", "a shifted group, D > n (Hubert et al. 2005)"),
    "t": ("degrees of freedom", "200 x 30, d = 3", "heavy tails (multivariate t)"),
    "clu": ("fraction, distance, d", "200 x 30", "a cluster of outliers off the subspace"),
    "lin": ("fraction, spread, d", "200 x 30", "outliers on a line through the center"),
    "shift": ("fraction, distance", "200 x 30, d = 3", "outliers about one distant point"),
    "cell": ("fraction", "200 x 50, d = 3", "cellwise outliers, in any row"),
}
"""The parameters of each kind, its size, and the contamination; fractions are those of the samples or cells."""


def shuffled(rng: Generator, parts: Parts) -> Sample:
    """The rows of a model, shifted by a random offset and in random order."""
    points = np.vstack([parts.good, parts.bad])
    offset = rng.standard_normal(points.shape[1]) * 2
    order = rng.permutation(len(points))
    outlier = np.arange(len(points)) >= len(parts.good)
    bad_cells = np.zeros(points.shape, bool)
    clean = points
    if parts.bad_cells is not None and parts.clean is not None:
        bad_cells[: len(parts.good)] = parts.bad_cells
        clean = np.vstack([parts.clean, parts.bad])
    return Sample(
        points=(points + offset)[order],
        basis=parts.basis,
        outlier=outlier[order],
        bad_cells=bad_cells[order],
        clean_points=(clean + offset)[order],
        true_variances=parts.true_variances,
    )


def counts(n: int, fraction: float) -> tuple[int, int]:
    """The numbers of inliers and outliers among n rows."""
    bad = round(fraction * n)
    return n - bad, bad


def none(features: int) -> Array:
    """No rows."""
    return np.zeros((0, features))


def hay(rng: Generator, fraction: float, scale: float) -> Parts:
    """A haystack: outliers in all directions, with the norm of the inliers times `scale`."""
    n, D, d = 200, 50, 5
    good, bad = counts(n, fraction)
    basis = orthonormal(rng, D, d)
    rows = rng.standard_normal((good, d)) / np.sqrt(d) @ basis.T + 0.01 * rng.standard_normal((good, D))
    return Parts(rows, scale * rng.standard_normal((bad, D)) / np.sqrt(D), basis, np.full(d, 1 / d + 0.01**2))


def shifted(rng: Generator, n: int, spectrum: Array, d: int, fraction: float, shift: float, shrink: float) -> Parts:
    """Axes with a spectrum; the outliers are shrunk and shifted along the first axis off the subspace, axis d."""
    D = len(spectrum)
    good, bad = counts(n, fraction)
    rows = rng.standard_normal((good, D)) * np.sqrt(spectrum)
    outliers = rng.standard_normal((bad, D)) * np.sqrt(spectrum / shrink)
    outliers[:, d] += shift
    return Parts(rows, outliers, np.eye(D)[:, :d], spectrum[:d])


def low(rng: Generator, fraction: float, shift: float, shrink: float) -> Parts:
    """Few features."""
    return shifted(rng, 100, np.array([8.0, 4.0, 2.0, 1.0]), 3, fraction, shift, shrink)


def high(rng: Generator, fraction: float, shift: float, shrink: float) -> Parts:
    """More features than samples."""
    spectrum = np.concatenate([[17, 13.5, 8, 3, 1.0], np.linspace(0.095, 0.001, 95)])
    return shifted(rng, 50, spectrum, 5, fraction, shift, shrink)


def heavy(rng: Generator, freedom: float) -> Parts:
    """Multivariate t: rows are divided by the root of a chi-square variable."""
    n, D, d = 200, 30, 3
    basis = orthonormal(rng, D, d)
    rows = plane(rng, n, basis, PLANE, noise=0.3)
    length = np.sqrt(rng.chisquare(freedom, n) / freedom)
    return Parts(rows / length[:, None], none(D), basis)


def beside(rng: Generator, fraction: float, d: float) -> tuple[Array, Array, Array, Array, int]:
    """Inliers, their basis, its standard deviations, a direction off the subspace, and the number of outliers."""
    n, D, columns = 200, 30, int(d)
    basis, direction = basis_and_direction(rng, D, columns)
    good, bad = counts(n, fraction)
    deviations = np.linspace(3, 1.5, columns) if columns > 1 else np.array([3.0])
    return plane(rng, good, basis, deviations, noise=0.1), basis, deviations, direction, bad


def cluster(rng: Generator, fraction: float, distance: float, d: float) -> Parts:
    """A cluster of outliers in one direction off the subspace."""
    rows, basis, deviations, direction, bad = beside(rng, fraction, d)
    outliers = distance * direction + 0.3 * rng.standard_normal((bad, len(basis)))
    return Parts(rows, outliers, basis, deviations**2 + 0.1**2)


def line(rng: Generator, fraction: float, spread: float, d: float) -> Parts:
    """Outliers on both sides along one direction off the subspace."""
    rows, basis, deviations, direction, bad = beside(rng, fraction, d)
    outliers = spread * rng.standard_normal((bad, 1)) * direction + 0.3 * rng.standard_normal((bad, len(basis)))
    return Parts(rows, outliers, basis, deviations**2 + 0.1**2)


def far(rng: Generator, fraction: float, distance: float) -> Parts:
    """Outliers about one distant point."""
    n, D, d = 200, 30, 3
    basis = orthonormal(rng, D, d)
    good, bad = counts(n, fraction)
    rows = plane(rng, good, basis, PLANE, noise=0.1)
    direction = rng.standard_normal(D)
    direction /= np.linalg.norm(direction)
    outliers = distance * (direction + 0.5 * rng.standard_normal((bad, D)) / np.sqrt(D))
    return Parts(rows, outliers, basis, PLANE**2 + 0.1**2)


def cells(rng: Generator, fraction: float) -> Parts:
    """Cellwise outliers: each cell may be bad, independent of its row."""
    n, D, d = 200, 50, 3
    basis = orthonormal(rng, D, d)
    clean = plane(rng, n, basis, PLANE, noise=0.05)
    rows, bad = with_bad_cells(rng, clean, fraction)
    return Parts(rows, none(D), basis, bad_cells=bad, clean=clean)


KINDS: dict[str, Callable[..., Parts]] = {
    "hay": hay,
    "low": low,
    "high": high,
    "t": heavy,
    "clu": cluster,
    "lin": line,
    "shift": far,
    "cell": cells,
}
