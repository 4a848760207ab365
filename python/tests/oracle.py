"""NumPy reference implementation of the angular embedding in float64.

Rows are samples. A row that equals the center up to rounding has no direction; it is not in the support.
"""

from __future__ import annotations

import numpy as np

EPSILON = np.finfo(float).eps


def directions(X: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows, zero for rows without a direction, and the mask of rows with a direction."""
    away = X - center
    norm = np.linalg.norm(away, axis=1)
    has_one = norm > 8 * EPSILON * (np.linalg.norm(X, axis=1) + np.linalg.norm(center))
    unit = np.zeros_like(away)
    unit[has_one] = away[has_one] / norm[has_one, None]
    return unit, has_one


def top(rows: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The top d eigenvalues of rows' rows / m, their eigenvectors as rows, and the next eigenvalue."""
    _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
    values = np.append(singular**2 / len(rows), 0.0)
    return values[:d], vectors[:d], values[d]


def cone(unit: np.ndarray, has_one: np.ndarray, degrees: float, signed: bool) -> tuple[int, np.ndarray, np.ndarray]:
    """The pivot, tau and the support."""
    cosines = unit @ unit.T if signed else np.abs(unit @ unit.T)
    np.fill_diagonal(cosines, 1.0)
    near = (cosines >= np.cos(np.deg2rad(degrees)) - 4 * EPSILON) & has_one & has_one[:, None]
    tau = len(unit) - near.sum(axis=1)
    tau[~has_one] = len(unit) + 1
    pivot = int(np.argmin(tau))
    return pivot, tau, near[pivot]


def sine(found: np.ndarray, exact: np.ndarray) -> float:
    """The sine of the largest principal angle between two subspaces, each given by orthonormal rows."""
    return float(np.linalg.norm(found - (found @ exact.T) @ exact, 2))
