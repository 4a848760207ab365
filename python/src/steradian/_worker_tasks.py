"""Tasks of a cluster's workers, for any kind of cluster.

A worker needs only the package. A task receives a partition and a serialized job and returns a partial result. An error
of a partition is returned, not raised, so that the error of the earliest partition is the one that is reported.
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

PartError: TypeAlias = Exception
"""The error of a partition, returned in place of its result."""

PartInfo: TypeAlias = "tuple[int, int, str, tuple[int, int] | None]"
"""Number of rows, number of features, dtype and image size of a partition."""


T = TypeVar("T")


def version() -> str:
    """The version of the package in this process."""
    return _engine.VERSION


def worker_threads() -> int:
    """Number of threads of the tasks of this process: of its Dask worker or Spark task, else one per core."""
    spark = sys.modules.get("pyspark.taskcontext")
    task = spark.TaskContext.get() if spark else None
    if task is not None:
        return int(task.cpus())
    worker = sys.modules.get("distributed.worker")
    try:
        return int(worker.get_worker().state.nthreads) if worker else cores()
    except ValueError:
        return cores()


class SerializedJob:
    """A job as bytes, with the version that made it. A process deserializes it once for all its tasks."""

    def __init__(self, job: bytes | npt.NDArray[np.uint8], made_by: str) -> None:
        self._bytes = job
        self._made_by = made_by
        self._job: _engine.Job | None = None

    def job(self) -> _engine.Job:
        """The job; rejects a job of another version."""
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
        return SerializedJob, (self._bytes, self._made_by)

    def __sizeof__(self) -> int:
        return 2 * len(self._bytes)


def part_info(part: SamplesLike) -> PartInfo | PartError:
    """Size and dtype of a partition, or its error."""
    try:
        samples = read(part, reader="a partition", minimum=0)
    except (TypeError, ValueError) as error:
        return error
    return (*samples.shape, samples.dtype, samples.image)


def sum_part(
    part: SamplesLike, job: SerializedJob, first: int, expected: PartInfo
) -> _engine.PartialResult | PartError:
    """The partial result of a partition that starts at row `first` of all data, or its error."""
    try:
        samples = read(part, reader="a partition")
        found = (*samples.shape, samples.dtype)
        if found != expected[:3]:
            msg = (
                f"the partition at row {first} changed during the fit: expected {expected[0]} rows of {expected[1]} "
                f"features ({expected[2]}), got {found[0]} of {found[1]} ({found[2]}); use data that do not change"
            )
            return ValueError(msg)
        return job.job().sum(samples, first, threads=worker_threads())
    except (TypeError, ValueError) as error:
        return error


def merge_results(
    left: _engine.PartialResult | PartError, right: _engine.PartialResult | PartError, job: SerializedJob
) -> _engine.PartialResult | PartError:
    """The partial result of two adjacent row ranges, or the error of the earlier one."""
    if isinstance(left, Exception):
        return left
    if isinstance(right, Exception):
        return right
    return job.job().merge(left, right, threads=worker_threads())


def tree_reduce(results: Sequence[T], merge: Callable[[T, T, int, int], T]) -> T:
    """The reduction of adjacent results by pairs, level by level; `merge` also receives the level and the index there.

    The last result of an odd level moves up unchanged. So a run of a power of two results, at a multiple of its length,
    is a subtree: a cluster may merge such runs first, and their results in further rounds, with bitwise identical
    results.
    """
    level = 0
    while len(results) > 1:
        merged = [merge(results[i], results[i + 1], level, i // 2) for i in range(0, len(results) - 1, 2)]
        results = [*merged, *results[len(merged) * 2 :]]
        level += 1
    return results[0]


def take(part: SamplesLike, rows: Sequence[int]) -> npt.NDArray[Any]:
    """Some rows of a partition, as an array."""
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part[list(rows)])
    return read(part, reader="a partition").take(list(rows))


def transform_part(part: SamplesLike, model: _engine.Model, robust_scores: bool | None) -> npt.NDArray[Any]:
    """The scores of a partition."""
    samples = read(part, reader="a partition", minimum=0)
    return model.transform(samples, robust_scores=robust_scores, threads=worker_threads())
