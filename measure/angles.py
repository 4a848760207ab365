"""Angles between subspaces."""

from __future__ import annotations

import numpy as np

from measure.arrays import Array


def largest_angle(basis: Array, components: Array) -> float:
    """The largest principal angle in degrees between the columns of `basis` and the rows of `components`.

    Both are orthonormal. The sine is used as well, since the cosine is inaccurate for small angles.
    """
    cosines = np.linalg.svd(components @ basis, compute_uv=False)
    beyond = basis - components.T @ (components @ basis)
    sine = float(np.linalg.norm(beyond, 2))
    return float(np.degrees(np.arctan2(min(sine, 1.0), max(float(cosines.min()), 0.0))))


def largest_sine(found: Array, exact: Array) -> float:
    """The sine of the largest principal angle between the rows of two matrices; only `exact` must be orthonormal."""
    basis = np.linalg.qr(found.astype(np.float64).T)[0]
    outside = basis - exact.T @ (exact @ basis)
    return float(np.linalg.norm(outside, 2))
