"""What runs where the rows are: the tasks that a cluster's workers are given, whatever cluster it is.

A worker needs the package and nothing else. A task gets a part of the data and a pass as bytes and returns a sum.
What is wrong with a part is returned, not raised: so the earliest part that is wrong is the one that is reported.
"""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from steradian import _engine
from steradian._data import SamplesLike, read
from steradian._threads import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

Wrong: TypeAlias = Exception
"""What is wrong with a part, returned in the place of its sum."""

Look: TypeAlias = "tuple[int, int, str, tuple[int, int] | None]"
"""Rows, features, type and image size of a part."""


T = TypeVar("T")


def version() -> str:
    """The version of the package in this process."""
    return _engine.VERSION


def worker_threads() -> int:
    """Threads that tasks of this process share: those of its Dask worker or its Spark task, else one per core."""
    spark = sys.modules.get("pyspark.taskcontext")
    task = spark.TaskContext.get() if spark else None
    if task is not None:
        return int(task.cpus())
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
                f"the worker on {platform.node()} has steradian {version()} but the fit was started with steradian "
                f"{self._made_by}; install one version everywhere"
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


def along_tree(sums: Sequence[T], merge: Callable[[T, T, int, int], T]) -> T:
    """Neighbours merged two by two, level by level; `merge` is also told the level and the place of what it makes.

    What is left over at the end of a level goes up as it is. So a run of a power of two, cut at a multiple of its
    length, is a subtree: a cluster may merge such runs first, and what they give in a second round, to the same bits.
    """
    level = 0
    while len(sums) > 1:
        merged = [merge(sums[i], sums[i + 1], level, i // 2) for i in range(0, len(sums) - 1, 2)]
        sums = [*merged, *sums[len(merged) * 2 :]]
        level += 1
    return sums[0]


def take(part: SamplesLike, rows: Sequence[int]) -> npt.NDArray[Any]:
    """Some rows of a part, as an array."""
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part[list(rows)])
    return read(part, reader="a partition").take(list(rows))


def transform_part(part: SamplesLike, model: _engine.Model, robust_scores: bool | None) -> npt.NDArray[Any]:
    """Scores of a part."""
    samples = read(part, reader="a partition", minimum=0)
    return model.transform(samples, robust_scores=robust_scores, threads=worker_threads())
