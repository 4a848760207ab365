"""The numbers of a classical PCA: those of the engine's model, and those of small tables that have no such model."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian._engine import Model

LARGEST_TABLE = 2**25
"""The number of cells of the largest table that is decomposed here."""

LARGEST_COVARIANCE = 2000
"""The number of features of the largest covariance matrix of sparse rows, where the solver may be chosen."""


@dataclass(frozen=True)
class Decomposition:
    """Components by decreasing variance. There may be more of them than the rank of the data, and than in the model."""

    components: npt.NDArray[np.float64]
    variances: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    total_variance: float | None
    n_samples: int
    model: Model | None
    warnings: list[str] = field(default_factory=list)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.mean)

    def first(self, count: int) -> Decomposition:
        """The leading components."""
        return Decomposition(
            self.components[:count].copy(),
            self.variances[:count].copy(),
            self.mean,
            self.total_variance,
            self.n_samples,
            self.model,
            self.warnings,
        )


@dataclass(frozen=True)
class SparseRows:
    """A sparse matrix as the data of a fit."""

    matrix: Any
    feature_names: None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and number of features."""
        samples, features = self.matrix.shape
        return int(samples), int(features)


def is_sparse(X: object) -> bool:
    """True for a sparse matrix or array of SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def of_model(model: Model) -> Decomposition:
    """The numbers of a model of the engine."""
    return Decomposition(
        model.components,
        model.explained_variance,
        model.center,
        model.total_variance,
        len(model.support),
        model,
        list(model.warnings),
    )


def of_rows(rows: npt.NDArray[Any], count: int, model: Model | None) -> Decomposition:
    """The numbers of a table in memory, by a singular value decomposition; `model` has those of its rank."""
    mean: npt.NDArray[np.float64] = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
    centered = rows - mean
    _, singular, components = np.linalg.svd(centered, full_matrices=False)
    variances = singular**2 / (len(rows) - 1)
    found = Decomposition(
        with_signs(components), variances, mean, float(np.sum(variances)), len(rows), model, _warnings(model)
    )
    return found.first(count)


def of_sparse(rows: SparseRows, count: int, solver: str, tol: float, seed: int) -> Decomposition:
    """The numbers of sparse rows, which are not centered in memory."""
    X, (n_samples, n_features) = rows.matrix, rows.shape
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    squares = np.asarray(X.multiply(X).sum(axis=0), dtype=np.float64).ravel()
    total = float(np.sum(squares - n_samples * mean**2)) / (n_samples - 1)
    if solver == "covariance_eigh" or n_features <= LARGEST_COVARIANCE:
        moments = (X.T @ X).toarray().astype(np.float64)
        covariance = (moments - n_samples * np.outer(mean, mean)) / (n_samples - 1)
        values, vectors = np.linalg.eigh(covariance)
        variances, components = np.maximum(values[::-1], 0), vectors[:, ::-1].T
    else:
        singular, components = _leading(X.astype(np.float64), mean, count, tol, seed)
        variances = singular**2 / (n_samples - 1)
    variances = variances[: min(n_samples, n_features)]
    return Decomposition(with_signs(components), variances, mean, total, n_samples, None).first(count)


def _leading(
    X: Any, mean: npt.NDArray[np.float64], count: int, tol: float, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Leading singular values and right singular vectors of the centered rows, by products with vectors only."""
    # SciPy is installed where there are sparse data.
    from scipy.sparse.linalg import LinearOperator, svds

    ones = np.ones(X.shape[0])
    centered = LinearOperator(
        X.shape,
        dtype=np.float64,
        matvec=lambda v: X @ v - (mean @ v) * ones,
        rmatvec=lambda u: X.T @ u - mean * np.sum(u),
        matmat=lambda v: X @ v - np.outer(ones, mean @ v),
        rmatmat=lambda u: X.T @ u - np.outer(mean, np.sum(u, axis=0)),
    )
    start = np.random.default_rng(seed).uniform(-1, 1, min(X.shape))
    _, singular, components = svds(centered, k=count, tol=tol, v0=start)
    order = np.argsort(singular)[::-1]
    return singular[order], components[order]


def with_signs(components: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Components whose entry of largest magnitude is positive."""
    if components.size == 0:
        return components
    largest = np.argmax(np.abs(components), axis=1)
    negative = components[np.arange(len(components)), largest] < 0
    return np.where(negative[:, None], -components, components)


def _warnings(model: Model | None) -> list[str]:
    return [] if model is None else list(model.warnings)
