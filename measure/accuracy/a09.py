"""The contamination model A09: 100 samples, d = 6, features correlated by (-0.9)^|i - j|, bad cells and bad rows.

The eigenvectors are those of the correlation matrix; the first six eigenvalues are 30, 25, 20, 15, 10 and 5, the others
sum to about 10. A bad cell is `distance` standard deviations of its feature from the center; outliers lie about a point
on the seventh eigenvector. Models of this kind were used to study MacroPCA.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from measure.accuracy.sample import Sample
from measure.arrays import Array

LEGEND = {
    "a09": ("D, contamination, distance", "100 x D, d = 6", "cells, rows or both, in percent; NA: 20 % missing cells")
}
"""The parameters of the kind, its size, and the contamination."""

SAMPLES = 100
EIGENVALUES = np.array([30.0, 25, 20, 15, 10, 5])
"""Variances along the subspace."""
REST = 9.65
"""The sum of all further eigenvalues is about this; they decrease linearly."""


@dataclass(frozen=True)
class Contamination:
    """Fractions of bad cells and bad rows, and the distance of bad rows relative to that of bad cells."""

    cells: float = 0.0
    rows: float = 0.0
    row_distance: float = 1.0
    missing: float = 0.0


CONTAMINATIONS = {
    "clean": Contamination(),
    "cell10": Contamination(cells=0.1),
    "cell20": Contamination(cells=0.2),
    "row20": Contamination(rows=0.2),
    "row30": Contamination(rows=0.3),
    "both": Contamination(cells=0.1, rows=0.1, row_distance=2),
    "bothNA": Contamination(cells=0.1, rows=0.1, row_distance=2, missing=0.2),
}


def a09(rng: Generator, features: str, contamination: str, distance: str) -> Sample:
    """The data of a case."""
    found, far, d = CONTAMINATIONS[contamination], float(distance), len(EIGENVALUES)
    vectors, eigenvalues = spectrum(int(features))
    rows = rng.standard_normal((SAMPLES, len(vectors))) * np.sqrt(eigenvalues) @ vectors.T
    bad = round(found.rows * SAMPLES)
    if bad:
        around = (rng.standard_normal((bad, len(vectors))) * np.sqrt(eigenvalues / 1.5)) @ vectors.T
        rows[:bad] = found.row_distance * far * vectors[:, d] + around
    bad_cells = cells_by_feature(rng, rows.shape, bad, found.cells)
    deviations = np.sqrt(((vectors**2) * eigenvalues).sum(1))
    points = np.where(bad_cells, far * deviations, rows)
    order = rng.permutation(SAMPLES)
    return Sample(
        points=points[order],
        basis=vectors[:, :d],
        outlier=(np.arange(SAMPLES) < bad)[order],
        bad_cells=bad_cells[order],
        clean_points=rows[order],
        missing=rng.random(points.shape) < found.missing if found.missing else None,
    )


def spectrum(features: int) -> tuple[Array, Array]:
    """Eigenvectors of the correlation matrix in order of decreasing eigenvalues, and the variances along them."""
    place = np.arange(features)
    vectors = np.linalg.eigh((-0.9) ** np.abs(place[:, None] - place))[1][:, ::-1]
    rest = features - len(EIGENVALUES)
    mean = REST / rest
    return vectors, np.r_[EIGENVALUES, np.linspace(1.97 * mean, 0.03 * mean, rest)]


def cells_by_feature(rng: Generator, shape: tuple[int, ...], first: int, fraction: float) -> Array:
    """A mask with an equal number of bad cells in each feature, none before row `first`."""
    n, features = shape
    mask = np.zeros(shape, bool)
    count = round(fraction * (n - first))
    if count:
        for feature in range(features):
            mask[rng.choice(np.arange(first, n), count, replace=False), feature] = True
    return mask
