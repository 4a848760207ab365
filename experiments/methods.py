"""The methods that are compared, by the names in the paper and in this project."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from steradian import EMPCA, PCA, AngularEmbedding, GrassmannAverage, PrincipalComponentPursuit

from measure.angles import largest_angle

Method = Callable[[int], Any]

PAPER_FOUR: dict[str, Method] = {
    "PCA": PCA,
    "EM PCA": EMPCA,
    "TGA": GrassmannAverage,
    "AE": AngularEmbedding.paper,
}
"""Those of the paper's classification tables."""

ROBUST = "robust (ours)"
CELLS = "cells (ours)"
SCREENED = "screened AE (ours)"
ANGULAR = "AE, spatial median (ours)"
OURS: dict[str, Method] = {
    ANGULAR: lambda d: AngularEmbedding(d, method="angular"),
    ROBUST: AngularEmbedding,
    CELLS: lambda d: AngularEmbedding(d, method="cells"),
}
"""What this project adds."""


def screened_ae(d: int) -> Any:
    """The paper's squared cosines of the samples that the outlyingness screen accepts."""
    return AngularEmbedding(d, method="angular", screen="outlyingness")


def tae(angle: float) -> Method:
    """The paper's trimmed form at an angle in degrees."""
    return lambda d: AngularEmbedding.paper(d, angle)


def everyone(angle: float) -> dict[str, Method]:
    """All methods of the paper and all of ours."""
    return {
        "PCA": PCA,
        "EM PCA": EMPCA,
        "ALM": PrincipalComponentPursuit,
        "TGA": GrassmannAverage,
        "AE": AngularEmbedding.paper,
        f"TAE {angle:g}": tae(angle),
        **OURS,
    }


def fitted(method: Method, d: int, samples: Any) -> tuple[Any, list[str]]:
    """The method's estimator after a fit, and what it warned of; no warning is lost, none goes to the screen."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator = method(d).fit(samples)
    told = [str(w.message) for w in caught if issubclass(w.category, (ConvergenceWarning, UserWarning))]
    return estimator, told


def degrees_between(truth: np.ndarray, found: np.ndarray) -> float:
    """The largest principal angle between the spans of orthonormal rows, in degrees."""
    return largest_angle(truth.T, found)
