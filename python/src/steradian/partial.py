"""Partial results of passes, for machines without a common cluster: each machine reduces its own rows.

A :class:`Pass` defines the quantity that is computed. Machines that create the same pass with the same version of the
package can each reduce a part of the data, send the partial result as bytes, and merge those of adjacent parts. The
result depends on the boundaries of the parts only by rounding; with parts on the grid of all data it is bitwise
identical to that of one machine, see :meth:`Pass.leaf_rows`.

Examples
--------
The mean of data on two machines; each has the index of its first row among all rows:

>>> import numpy as np
>>> from steradian import partial
>>> here, there = np.arange(12.0).reshape(4, 3), np.arange(12.0, 18.0).reshape(2, 3)
>>> mean = partial.mean(n_features=3)
>>> sent = mean.sum(there, first_row=4).to_bytes()
>>> total = mean.merge(mean.sum(here, first_row=0), partial.PartialResult.from_bytes(sent))
>>> total.rows
(0, 6)
>>> mean.finish(total, n_samples=6)
array([7.5, 8.5, 9.5])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from steradian._data import SamplesLike, read
from steradian._engine import Job, PartialResult
from steradian._parameters import count
from steradian._threads import threads

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["PartialResult", "Pass", "mean", "scatter"]


class Pass(ABC):
    """One pass over the data: partial results of parts, their merge, and the value of the total."""

    def __init__(self, job: Job, n_features: int) -> None:
        self._job = job
        self._n_features = n_features

    def leaf_rows(self, n_samples: int) -> int:
        """Number of rows per leaf of the reduction grid of `n_samples` rows: 256 times a power of 2.

        Parts that start and end at multiples of it, or at the end of the data, can be reduced on that grid.
        """
        return self._job.leaf_rows(count("n_samples", n_samples, 0), self._n_features)

    def sum(
        self, X: SamplesLike, first_row: int, *, n_samples: int | None = None, n_jobs: int | None = None
    ) -> PartialResult:
        """The partial result of a part of the data.

        Parameters
        ----------
        X : array, data frame, path or Samples
            As in :meth:`AngularEmbedding.fit`.
        first_row : int
            Index of its first row among all rows, from 0; used for merging and in messages.
        n_samples : int or None, default=None
            Number of rows of all data: the part is then reduced on their grid, and the total of all parts is bitwise
            identical to that of one machine. Parts that are not aligned to the grid are rejected.
        n_jobs : int or None, default=None
            Number of threads; the result does not depend on it.

        Returns
        -------
        PartialResult
            With ``rows``, ``to_bytes`` and ``from_bytes``.
        """
        samples = read(X, reader="a pass")
        if samples.shape[1] != self._n_features:
            msg = f"X has {samples.shape[1]} features, but the pass is expecting {self._n_features} features as input."
            raise ValueError(msg)
        first = count("first_row", first_row, 0)
        whole = None if n_samples is None else count("n_samples", n_samples, 0)
        return self._job.sum(samples, first, whole=whole, threads=threads(n_jobs))

    def merge(self, *results: PartialResult) -> PartialResult:
        """The partial result of adjacent parts, given in the order of the data; merged along a binary tree."""
        if not results:
            msg = "no partial results to merge; pass at least one"
            raise ValueError(msg)
        level = [_partial_result(f"result {i}", result) for i, result in enumerate(results)]
        while len(level) > 1:
            merged = [self._job.merge(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
            level = merged + level[2 * len(merged) :]
        return level[0]

    @abstractmethod
    def finish(self, total: PartialResult, n_samples: int) -> npt.NDArray[np.float64]:
        """The value of the total of all `n_samples` rows; rejects a partial result of fewer rows."""


def _partial_result(name: str, value: object) -> PartialResult:
    if not isinstance(value, PartialResult):
        msg = f"{name} is {type(value).__name__}; expected a PartialResult, as from sum or PartialResult.from_bytes"
        raise TypeError(msg)
    return value


class _Mean(Pass):
    def __init__(self, n_features: int) -> None:
        super().__init__(Job.mean(n_features), n_features)

    def finish(self, total: PartialResult, n_samples: int) -> npt.NDArray[np.float64]:
        total, n_samples = _partial_result("total", total), count("n_samples", n_samples)
        return self._job.finish_mean(self._n_features, total, n_samples)


class _Scatter(Pass):
    def __init__(self, center: npt.ArrayLike, uniform: bool) -> None:
        try:
            self._center: list[Any] = np.asarray(center, dtype=np.float64).ravel().tolist()
        except (TypeError, ValueError, OverflowError) as error:
            msg = f"center = {center!r} is not supported; expected a list of numbers, one per feature"
            raise ValueError(msg) from error
        self._uniform = uniform
        super().__init__(Job.scatter(self._center, uniform), len(self._center))

    def finish(self, total: PartialResult, n_samples: int) -> npt.NDArray[np.float64]:
        total, n_samples = _partial_result("total", total), count("n_samples", n_samples)
        return self._job.finish_scatter(self._center, self._uniform, total, n_samples)


def mean(n_features: int) -> Pass:
    """The mean of all samples; rejects values that are not finite, by their row.

    Parameters
    ----------
    n_features : int
        Number of features.
    """
    return _Mean(count("n_features", n_features))


def scatter(center: npt.ArrayLike, normalize: bool = True) -> Pass:
    """The scatter matrix about a center, divided by the sum of the weights; its eigenvectors are the components.

    Parameters
    ----------
    center : array of shape (n_features,)
        The center that is subtracted from each sample.
    normalize : bool, default=True
        Divide the centered samples by their norms: the spatial sign covariance matrix (angular embedding). False: the
        covariance matrix with divisor n (PCA).
    """
    return _Scatter(center, uniform=not normalize)
