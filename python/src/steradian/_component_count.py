"""The number of components of classical PCA, by scikit-learn's rules: checks, fractions of the variance, evidence."""

from __future__ import annotations

from math import lgamma, log, pi
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from steradian import _parameters as parameters

if TYPE_CHECKING:
    import numpy.typing as npt

SVD_SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized")

_TRUNCATED = ("arpack", "randomized")
"""The solvers of scikit-learn that need the number of components in advance."""

_NO_VARIANCE = 1e-15


def checked(value: object) -> int | float | str | None:
    """The parameter `n_components`: an integer of at least 0, a fraction in (0, 1), "mle", "auto" or None."""
    if value is None or (isinstance(value, str) and value in ("mle", "auto")):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        if value < 0:
            msg = f"n_components = {value}; use at least 0"
            raise ValueError(msg)
        if value <= parameters.LARGEST:
            return int(value)
    elif isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    msg = (
        f"n_components = {value!r} is not supported; expected an integer >= 0, a fraction in (0, 1), 'mle', 'auto' or "
        "None"
    )
    raise ValueError(msg)


def scikit_learns_solver(svd_solver: str, shape: tuple[int, int], count: int | float | str | None) -> str:
    """The solver that scikit-learn uses for dense data of a shape; it decides which numbers of components are valid."""
    if svd_solver != "auto":
        return svd_solver
    samples, features = shape
    if features <= 1000 and samples >= 10 * features:
        return "covariance_eigh"
    if max(shape) <= 500 or count is None or isinstance(count, str):
        return "full"
    return "randomized" if 1 <= count < 0.8 * min(shape) else "full"


def requested(count: int | float | str | None, shape: tuple[int, int], solver: str) -> int | float | str:
    """The request with a number in place of None, or an error if scikit-learn's solver rejects it for this shape."""
    most = min(shape)
    if count is None:
        count = most - 1 if solver == "arpack" else most
    if count == "auto":
        return count
    if count == "mle":
        if solver in _TRUNCATED:
            msg = f"n_components='mle' cannot be a string with svd_solver='{solver}'; use svd_solver='auto'"
            raise ValueError(msg)
        if shape[0] < shape[1]:
            msg = (
                f"n_components='mle' is only supported if n_samples >= n_features, but X has shape {shape}; pass a "
                "number or a fraction"
            )
            raise ValueError(msg)
        return count
    least = 1 if solver in _TRUNCATED else 0
    if not least <= float(count) <= most:
        remedy = f"use at most {most}" if float(count) > most else f"use at least {least}"
        msg = (
            f"n_components={count} must be between {least} and min(n_samples, n_features)={most} with "
            f"svd_solver='{solver}'; {remedy}"
        )
        raise ValueError(msg)
    if solver == "arpack" and count == most:
        msg = (
            f"n_components={count} must be strictly less than min(n_samples, n_features)={most} with "
            f"svd_solver='arpack'; use at most {most - 1}, or svd_solver='full'"
        )
        raise ValueError(msg)
    return count


def of_fraction(fraction: float, variances: npt.NDArray[np.float64], total: float) -> int:
    """The least number of leading variances whose fraction of the total exceeds the given one."""
    if total <= 0:
        return 1
    count = int(np.searchsorted(np.cumsum(variances / total), fraction, side="right")) + 1
    return min(count, len(variances))


def of_evidence(variances: npt.NDArray[np.float64], n_samples: int) -> int:
    """The number of components of the largest evidence (Minka 2000, Laplace's method), less than that of features."""
    counts = range(1, len(variances))
    return max(counts, key=lambda count: _log_evidence(variances, count, n_samples), default=1)


def _log_evidence(variances: npt.NDArray[np.float64], count: int, n_samples: int) -> float:
    """The logarithm of the probability of the data if this number of components is not noise."""
    features = len(variances)
    if variances[count - 1] < _NO_VARIANCE:
        return -np.inf
    noise = max(_NO_VARIANCE, float(np.mean(variances[count:])))
    dimensions = features - np.arange(count)
    prior = -count * log(2) + sum(lgamma(d / 2) - log(pi) * d / 2 for d in dimensions)
    fit = -n_samples / 2 * (float(np.sum(np.log(variances[:count]))) + (features - count) * log(noise))
    smoothed = np.where(np.arange(features) < count, variances, noise)
    rows, columns = np.triu_indices(count, 1, features)
    # Equal variances have no direction of their own; the smallest number stands in for their difference of 0.
    differences = (variances[rows] - variances[columns]) * (1 / smoothed[columns] - 1 / smoothed[rows])
    curvature = np.sum(np.log(np.maximum(differences, np.finfo(np.float64).tiny)) + log(n_samples))
    freedom = features * count - count * (count + 1) / 2
    return float(prior + fit + (freedom + count) / 2 * log(2 * pi) - curvature / 2 - count / 2 * log(n_samples))
