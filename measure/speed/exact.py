"""Exact components of AE and TAE, in f64 through the n x n matrix.

Usage: python -m measure.speed.exact MATRIX.npy D DEGREES AE.npy TAE.npy
"""

from __future__ import annotations

import sys

import numpy as np

from measure.arrays import Array

ROWS = 256
"""Rows converted to f64 per step, so that the data are not in memory twice."""


def directions(data: Array) -> Array:
    """Rows centered at their mean and scaled to norm 1, in f64."""
    mean = data.mean(axis=0, dtype=np.float64)
    unit = np.empty(data.shape)
    for first in range(0, len(data), ROWS):
        rows = data[first : first + ROWS] - mean
        unit[first : first + ROWS] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def components(unit: Array, gram: Array, d: int) -> Array:
    """The top d components as orthonormal rows."""
    from scipy.linalg import eigh

    n = len(gram)
    _, vectors = eigh(gram, subset_by_index=[n - d, n - 1])
    return np.linalg.qr((vectors[:, ::-1].T @ unit).T)[0].T


def support(gram: Array, degrees: float) -> Array:
    """The indices of the samples in the cone with most samples, the first such cone."""
    inside = np.abs(gram) >= np.cos(np.radians(degrees)) - 4 * np.finfo(float).eps
    pivot = int(np.argmax(np.count_nonzero(inside, axis=1)))
    return np.flatnonzero(inside[pivot])


def main() -> None:
    """Writes the exact components of AE and of TAE."""
    matrix, d, degrees, ae, tae = sys.argv[1:6]
    unit = directions(np.load(matrix))
    gram = unit @ unit.T
    kept = support(gram, float(degrees))
    np.save(ae, components(unit, gram, int(d)))
    np.save(tae, components(unit[kept], gram[np.ix_(kept, kept)], int(d)))


if __name__ == "__main__":
    main()
