"""Passes by hand, for machines that share no cluster: each sums its own rows, and sums are merged anywhere.

A :class:`Pass` says what is summed. Whoever makes the same pass with the same version of the package can sum a part of
the data, hand the sum on as bytes, and merge the sums of neighbouring parts. What comes out depends on where parts
begin and end only by rounding; and not at all where they are cut on the grid of the whole data, see
:meth:`Pass.cell_rows`.

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

    def __init__(self, job: Job, n_features: int) -> None:
        self._job = job
        self._n_features = n_features

    def cell_rows(self, n_samples: int) -> int:
        """Rows of a cell of the grid that `n_samples` in all are summed on, 256 times a power of 2.

        Parts that begin and end at multiples of it, or with the data, can be summed on that grid.
        """
        return self._job.cell_rows(n_samples, self._n_features)

    def sum(self, X: SamplesLike, first_row: int, *, n_samples: int | None = None, n_jobs: int | None = None) -> Sum:
        """The sum of a part of the data.

        Parameters
        ----------
        X : array, data frame, path or Samples
            As in :meth:`AngularEmbedding.fit`.
        first_row : int
            The number of its first row in the whole data, from 0; messages and merging go by it.
        n_samples : int or None, default=None
            How many rows the whole data have: then the part is summed on their grid, and all parts together give the
            bits that one machine would find. Parts that are cut elsewhere are refused.
        n_jobs : int or None, default=None
            Threads; the sum does not depend on it.

        Returns
        -------
        Sum
            With ``rows``, ``to_bytes`` and ``from_bytes``.
        """
        samples = read(X, reader="a pass")
        if samples.shape[1] != self._n_features:
            msg = f"X has {samples.shape[1]} features, but the pass is expecting {self._n_features} features as input."
            raise ValueError(msg)
        return self._job.sum(samples, first_row, whole=n_samples, threads=threads(n_jobs))

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
        super().__init__(Job.mean(n_features), n_features)

    def finish(self, total: Sum, n_samples: int) -> npt.NDArray[np.float64]:
        return self._job.finish_mean(self._n_features, total, n_samples)


class _Scatter(Pass):
    def __init__(self, center: npt.ArrayLike, uniform: bool) -> None:
        self._center: list[Any] = np.asarray(center, dtype=np.float64).ravel().tolist()
        self._uniform = uniform
        super().__init__(Job.scatter(self._center, uniform), len(self._center))

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
