"""The exact answers, in f64 through the n x n matrix: python bench/exact.py MATRIX.npy D DEGREES AE.npy TAE.npy

Also holds the measure of how far an answer is from them.
"""

from __future__ import annotations

import sys

import numpy as np

ROWS = 256
"""Rows that are widened at a time, so that f64 data need not be there twice."""


def directions(data: np.ndarray) -> np.ndarray:
    """Rows seen from their mean, scaled to length 1, in f64."""
    mean = data.mean(axis=0, dtype=np.float64)
    unit = np.empty(data.shape)
    for first in range(0, len(data), ROWS):
        rows = data[first : first + ROWS] - mean
        unit[first : first + ROWS] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def components(unit: np.ndarray, gram: np.ndarray, d: int) -> np.ndarray:
    """The top d directions, as orthonormal rows."""
    from scipy.linalg import eigh

    n = len(gram)
    _, vectors = eigh(gram, subset_by_index=[n - d, n - 1])
    return np.linalg.qr((vectors[:, ::-1].T @ unit).T)[0].T


def kept_samples(gram: np.ndarray, degrees: float) -> np.ndarray:
    """The samples in the fullest cone, the first such cone if there are several."""
    inside = np.abs(gram) >= np.cos(np.radians(degrees)) - 4 * np.finfo(float).eps
    pivot = int(np.argmax(np.count_nonzero(inside, axis=1)))
    return np.flatnonzero(inside[pivot])


def sine(found: np.ndarray, exact: np.ndarray) -> float:
    """The sine of the largest angle between two subspaces; `found` need not be orthonormal, `exact` is."""
    basis = np.linalg.qr(found.astype(np.float64).T)[0]
    outside = basis - exact.T @ (exact @ basis)
    return float(np.linalg.norm(outside, 2))


def main() -> None:
    """Writes the exact components of AE and of TAE."""
    matrix, d, degrees, ae, tae = sys.argv[1:6]
    unit = directions(np.load(matrix))
    gram = unit @ unit.T
    kept = kept_samples(gram, float(degrees))
    np.save(ae, components(unit, gram, int(d)))
    np.save(tae, components(unit[kept], gram[np.ix_(kept, kept)], int(d)))


if __name__ == "__main__":
    main()
