"""The largest principal angle between two subspaces, in degrees: the figure that methods are compared by."""

from __future__ import annotations

import numpy as np


def largest_angle(basis: np.ndarray, components: np.ndarray) -> float:
    """Between the span of the columns of `basis` and the span of the rows of `components`; both orthonormal.

    By its sine where that is small, since a cosine near 1 hides small angles.
    """
    cosines = np.linalg.svd(components @ basis, compute_uv=False)
    beyond = basis - components.T @ (components @ basis)
    sine = np.linalg.norm(beyond, 2)
    return float(np.degrees(np.arctan2(min(sine, 1.0), max(cosines.min(), 0.0))))
