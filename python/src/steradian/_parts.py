"""What runs where the rows are: the tasks that a cluster's workers are given, whatever cluster it is.

A worker needs the package and nothing else. A task gets a part of the data and a pass as bytes and returns a sum.
What is wrong with a part is returned, not raised: so the earliest part that is wrong is the one that is reported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from steradian import _engine
from steradian._data import SamplesLike, read
from steradian._threads import cores

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

Wrong: TypeAlias = Exception
"""What is wrong with a part, returned in the place of its sum."""

Look: TypeAlias = "tuple[int, int, str, tuple[int, int] | None]"
"""Rows, features, type and image size of a part."""


def version() -> str:
    """The version of the package in this process."""
    return _engine.VERSION


def worker_threads() -> int:
    """Threads that tasks of this process share: those that its Dask worker was given, else one per core."""
    worker = sys.modules.get("distributed.worker")
    try:
        return int(worker.get_worker().state.nthreads) if worker else cores()
    except ValueError:
        return cores()


class Parcel:
    """A pass on its way: bytes until a task of this process needs it, then opened once for all tasks."""

    def __init__(self, job: bytes | npt.NDArray[np.uint8], made_by: str) -> None:
        self._bytes = job
        self._made_by = made_by
        self._job: _engine.Job | None = None

    def job(self) -> _engine.Job:
        """The pass; refuses one that was made by another version."""
        if self._made_by != version():
            msg = (
                f"this worker has steradian {version()} but the fit was started with steradian {self._made_by}; "
                "install one version everywhere"
            )
            raise ValueError(msg)
        if self._job is None:
            self._job = _engine.Job.from_bytes(self._bytes)
        return self._job

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self._bytes, self._made_by)

    def __sizeof__(self) -> int:
        return 2 * len(self._bytes)


def look(part: SamplesLike) -> Look | Wrong:
    """What a part is."""
    try:
        samples = read(part, reader="a partition", minimum=0)
    except (TypeError, ValueError) as wrong:
        return wrong
    return (*samples.shape, samples.element, samples.image)


def sum_part(part: SamplesLike, parcel: Parcel, first: int, expected: Look) -> _engine.Sum | Wrong:
    """The sum of a part whose first row is number `first` of all."""
    try:
        samples = read(part, reader="a partition")
        found = (*samples.shape, samples.element)
        if found != expected[:3]:
            msg = (
                f"the partition that begins at row {first} has {found[0]} rows of {found[1]} features ({found[2]}) "
                f"where {expected[0]} of {expected[1]} ({expected[2]}) were announced; data must not change in a fit"
            )
            return ValueError(msg)
        return parcel.job().sum(samples, first, threads=worker_threads())
    except (TypeError, ValueError) as wrong:
        return wrong


def merge_sums(left: _engine.Sum | Wrong, right: _engine.Sum | Wrong, parcel: Parcel) -> _engine.Sum | Wrong:
    """The sum of two neighbours, or what is wrong with the earlier of them."""
    if isinstance(left, Exception):
        return left
    if isinstance(right, Exception):
        return right
    return parcel.job().merge(left, right, threads=worker_threads())


def take(part: SamplesLike, rows: Sequence[int]) -> npt.NDArray[Any]:
    """Some rows of a part, as an array."""
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part[list(rows)])
    return read(part, reader="a partition").take(list(rows))


def transform_part(part: SamplesLike, model: _engine.Model, robust: bool) -> npt.NDArray[Any]:
    """Scores of a part."""
    samples = read(part, reader="a partition", minimum=0)
    return model.transform(samples, robust=robust, threads=worker_threads())
