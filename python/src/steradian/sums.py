"""Passes by hand, for machines that share no cluster: each sums its own rows, and sums are merged anywhere.

A :class:`Pass` says what is summed. Whoever makes the same pass with the same version of the package can sum a part of
the data, hand the sum on as bytes, and merge the sums of neighbouring parts. What comes out depends on where parts
begin and end only by rounding.

Examples
--------
The mean of data that lie on two machines; each knows at which row of the whole its own begin:

>>> import numpy as np
>>> from steradian import sums
>>> here, there = np.arange(12.0).reshape(4, 3), np.arange(12.0, 18.0).reshape(2, 3)
>>> mean = sums.mean(n_features=3)
>>> sent = mean.sum(there, first_row=4).to_bytes()
>>> total = mean.merge(mean.sum(here, first_row=0), sums.Sum.from_bytes(sent))
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
from steradian._engine import Job, Sum
from steradian._threads import threads

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Pass", "Sum", "mean", "scatter"]


class Pass(ABC):
    """One pass over the data: sums of parts, merged, and what they mean when all rows are in them."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def sum(self, X: SamplesLike, first_row: int, *, n_jobs: int | None = None) -> Sum:
        """The sum of a part of the data.

        Parameters
        ----------
        X : array, data frame, path or Samples
            As in :meth:`AngularEmbedding.fit`.
        first_row : int
            The number of its first row in the whole data, from 0; messages and merging go by it.
        n_jobs : int or None, default=None
            Threads; the sum does not depend on it.

        Returns
        -------
        Sum
            With ``rows``, ``to_bytes`` and ``from_bytes``.
        """
        return self._job.sum(read(X, reader="a pass"), first_row, threads=threads(n_jobs))

    def merge(self, *sums: Sum) -> Sum:
        """The sum of neighbouring parts, given in the order of the data: merged two by two, until one is left."""
        if not sums:
            msg = "there are no sums to merge; sum at least one part"
            raise ValueError(msg)
        level = list(sums)
        while len(level) > 1:
            merged = [self._job.merge(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
            level = merged + level[2 * len(merged) :]
        return level[0]

    @abstractmethod
    def finish(self, total: Sum, n_samples: int) -> npt.NDArray[np.float64]:
        """What the sum of all `n_samples` rows means; refuses one that lacks some."""


class _Mean(Pass):
    def __init__(self, n_features: int) -> None:
        super().__init__(Job.mean(n_features))
        self._n_features = n_features

    def finish(self, total: Sum, n_samples: int) -> npt.NDArray[np.float64]:
        return self._job.finish_mean(self._n_features, total, n_samples)


class _Scatter(Pass):
    def __init__(self, center: npt.ArrayLike, uniform: bool) -> None:
        self._center: list[Any] = np.asarray(center, dtype=np.float64).ravel().tolist()
        self._uniform = uniform
        super().__init__(Job.scatter(self._center, uniform))

    def finish(self, total: Sum, n_samples: int) -> npt.NDArray[np.float64]:
        return self._job.finish_scatter(self._center, self._uniform, total, n_samples)


def mean(n_features: int) -> Pass:
    """The mean of all samples; refuses numbers that are not finite, by their row.

    Parameters
    ----------
    n_features : int
        The width of the data.
    """
    return _Mean(n_features)


def scatter(center: npt.ArrayLike, *, directions: bool = True) -> Pass:
    """The mean outer product of samples seen from a center: its eigenvectors are components.

    Parameters
    ----------
    center : array of shape (n_features,)
        Where samples are seen from.
    directions : bool, default=True
        Whether samples count by their direction (angular embedding), or by their difference from the center (PCA).
    """
    return _Scatter(center, uniform=not directions)
