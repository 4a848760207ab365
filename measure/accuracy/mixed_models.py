"""Contamination models with bad rows and bad cells at once, clusters near the inliers, and small or wide tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from measure.accuracy.sample import PLANE, Sample, basis_and_direction, plane, with_bad_cells
from measure.arrays import Array

LEGEND = {
    "near": ("fraction, distance, spread", "200 x 40, d = 3", "a cluster 1 to 3 standard deviations off the subspace"),
    "both": ("cells, rows, distance", "200 x 40, d = 3", "bad cells and a cluster"),
    "small": ("D, d, cells, rows", "30 x D", "few samples, with bad cells and a cluster"),
    "wide": ("cells, rows", "40 x 2000, d = 3", "many features, with bad cells and a cluster"),
}
"""The parameters of each kind, its size, and the contamination; fractions are those of the samples or cells."""


def near(rng: Generator, fraction: float, distance: float, spread: float) -> Sample:
    """A cluster near the inliers; the distance is in standard deviations of the first score."""
    basis, direction = basis_and_direction(rng, 40, len(PLANE))
    rows = plane(rng, 200, basis, PLANE, noise=0.1)
    bad = int(fraction * len(rows))
    put_cluster(rng, rows, bad, PLANE[0] * distance * direction, spread)
    return shuffled(rng, rows, basis, bad, cells=0)


def both(rng: Generator, cells: float, fraction: float, distance: float) -> Sample:
    """Bad cells, and a cluster at a distance in data units."""
    basis, direction = basis_and_direction(rng, 40, len(PLANE))
    rows = plane(rng, 200, basis, PLANE, noise=0.1)
    bad = int(fraction * len(rows))
    put_cluster(rng, rows, bad, distance * direction)
    return shuffled(rng, rows, basis, bad, cells)


def small(rng: Generator, features: float, columns: float, cells: float, fraction: float) -> Sample:
    """Few samples."""
    n, d = 30, int(columns)
    basis, direction = basis_and_direction(rng, int(features), d)
    rows = plane(rng, n, basis, np.linspace(3, 1.5, d), noise=0.2)
    bad = round(fraction * n)
    put_cluster(rng, rows, bad, 15 * direction)
    return shuffled(rng, rows, basis, bad, cells)


def wide(rng: Generator, cells: float, fraction: float) -> Sample:
    """Many more features than samples; the standard deviations along the subspace are ten times as large."""
    n, D = 40, 2000
    basis, direction = basis_and_direction(rng, D, len(PLANE))
    scores = rng.standard_normal((n, len(PLANE))) * PLANE
    rows = 10 * scores @ basis.T + 0.2 * rng.standard_normal((n, D))
    bad = round(fraction * n)
    put_cluster(rng, rows, bad, 60 * direction)
    return shuffled(rng, rows, basis, bad, cells)


def put_cluster(rng: Generator, rows: Array, bad: int, center: Array, spread: float = 0.3) -> None:
    """Replaces the first rows by a cluster."""
    rows[:bad] = center + spread * rng.standard_normal((bad, rows.shape[1]))


def shuffled(rng: Generator, rows: Array, basis: Array, bad: int, cells: float) -> Sample:
    """Rows whose first `bad` are outliers, with bad cells in the others, in random order and with a random offset."""
    points, bad_cells = rows, np.zeros(rows.shape, bool)
    if cells > 0:
        points, bad_cells = with_bad_cells(rng, rows, cells)
        points[:bad], bad_cells[:bad] = rows[:bad], False
    order = rng.permutation(len(rows))
    offset = rng.standard_normal(rows.shape[1]) * 2
    return Sample(
        points=points[order] + offset,
        basis=basis,
        outlier=(np.arange(len(rows)) < bad)[order],
        bad_cells=bad_cells[order],
        clean_points=rows[order] + offset,
    )


KINDS: dict[str, Callable[..., Sample]] = {"near": near, "both": both, "small": small, "wide": wide}
