"""Tasks of a cluster's workers, for any kind of cluster.

A worker needs only the package. A task receives a partition and a serialized job and returns a partial result. An error
of a partition is returned, not raised, so that the error of the earliest partition is the one that is reported.
"""

from __future__ import annotations

import os
import platform
import sys
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from steradian import _engine
from steradian._data import Samples, SamplesLike, column_labels, read
from steradian._names import require_equal_names
from steradian._threads import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

PartError: TypeAlias = Exception
"""The error of a partition, returned in place of its result."""

STABLE_HINT = (
    "data must not change or move during a fit: persist them (X.persist()), or write them to files and read those"
)


class PartInfo(NamedTuple):
    """A partition as it is expected in every pass."""

    rows: int
    features: int
    dtype: str
    image: tuple[int, int] | None = None
    """Height and width, if the samples are images."""
    labels: int | None = None
    """Checksum of the labels of the columns; `None` without labels."""
    checksum: int | None = None
    """Checksum of all values in order; `None` before the first pass."""


class Part(NamedTuple):
    """The position of a partition."""

    number: int
    """Index among all partitions."""
    first: int
    """Index of its first row among all rows."""
    info: PartInfo


class PartSum(NamedTuple):
    """The partial result of adjacent partitions."""

    result: _engine.PartialResult
    checksums: tuple[tuple[int, int], ...]
    """First row and checksum of each partition."""


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


def part_info(part: SamplesLike) -> tuple[PartInfo, list[Any] | None] | PartError:
    """The info of a partition and the labels of its columns, or its error."""
    try:
        samples = read(part, reader="a partition", minimum=0)
        labels = _labels(part, samples)
    except (TypeError, ValueError, OSError) as error:
        return error
    return PartInfo(*samples.shape, samples.dtype, samples.image, _labels_checksum(labels)), labels


def sum_part(part: SamplesLike, job: SerializedJob, expected: Part) -> PartSum | PartError:
    """The partial result of a partition, or its error."""
    try:
        samples = _read_as_expected(part, expected)
        result = job.job().sum(samples, expected.first, threads=worker_threads())
        # After the sum: values that change before are noticed in this pass, values that change later were not read.
        checksum = _checksum_as_expected(part, samples, expected)
    except (TypeError, ValueError, OSError) as error:
        return error
    return PartSum(result, ((expected.first, checksum),))


def _read_as_expected(part: SamplesLike, expected: Part) -> Samples:
    """The samples of a partition; rejects another shape, dtype or labels than before."""
    samples = read(part, reader="a partition")
    info = expected.info
    found = (*samples.shape, samples.dtype)
    if found != (info.rows, info.features, info.dtype):
        msg = (
            f"partition {expected.number}, which begins at row {expected.first}, has {found[0]} rows of {found[1]} "
            f"features ({found[2]}); expected {info.rows} of {info.features} ({info.dtype}), as declared or as in "
            f"earlier passes; {STABLE_HINT}"
        )
        raise ValueError(msg)
    if _labels_checksum(_labels(part, samples)) != info.labels:
        msg = (
            f"partition {expected.number}, which begins at row {expected.first}, changed to other columns; "
            f"{STABLE_HINT}"
        )
        raise ValueError(msg)
    return samples


def _checksum_as_expected(part: SamplesLike, samples: Samples, expected: Part) -> int:
    """The checksum of a partition; rejects another one than before."""
    checksum = _checksum(part, samples)
    if expected.info.checksum not in (None, checksum):
        msg = (
            f"partition {expected.number}, which begins at row {expected.first}, changed to other values or another "
            f"order; {STABLE_HINT}"
        )
        raise ValueError(msg)
    return checksum


def _checksum(part: SamplesLike, samples: Samples) -> int:
    """The checksum of all values in order; of the bytes of a table, which would be parsed once more otherwise."""
    if isinstance(part, (str, os.PathLike)) and not os.fspath(part).endswith(".npy") and os.path.isfile(part):
        checksum = 0
        with open(part, "rb") as file:
            while piece := file.read(1 << 20):
                checksum = zlib.crc32(piece, checksum)
        return checksum
    return samples.checksum()


def _labels(part: SamplesLike, samples: Samples) -> list[Any] | None:
    """The labels of the columns: those of a data frame, which need not be strings, or the names of a file."""
    return samples.feature_names or column_labels(part)


def _labels_checksum(labels: list[Any] | None) -> int | None:
    return None if labels is None else zlib.crc32(repr(labels).encode("utf-8", "surrogatepass"))


def merge_results(left: PartSum | PartError, right: PartSum | PartError, job: SerializedJob) -> PartSum | PartError:
    """The partial result of two adjacent row ranges, or the error of the earlier one."""
    if isinstance(left, Exception):
        return left
    if isinstance(right, Exception):
        return right
    merged = job.job().merge(left.result, right.result, threads=worker_threads())
    return PartSum(merged, left.checksums + right.checksums)


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


def take(part: SamplesLike, rows: Sequence[int], expected: Part) -> npt.NDArray[Any] | PartError:
    """Some rows of a partition, as an array, or its error."""
    try:
        samples = _read_as_expected(part, expected)
        taken = samples.take(list(rows))
        if expected.info.checksum is not None:
            _checksum_as_expected(part, samples, expected)
    except (TypeError, ValueError, OSError) as error:
        return error
    return taken


def transform_part(
    part: SamplesLike,
    model: _engine.Model,
    robust_scores: bool | None,
    names: Sequence[str] | None,
    number: int,
) -> npt.NDArray[Any]:
    """The scores of a partition; `names` are the features of the fit."""
    try:
        samples = read(part, reader="a partition", minimum=0)
        labels = _labels(part, samples)
        if labels is not None:
            require_names(labels, names)
        return model.transform(samples, robust_scores=robust_scores, threads=worker_threads())
    except (TypeError, ValueError, OSError) as error:
        raise named(error, f"partition {number}, rows counted within it") from error


def transform_block(
    block: npt.NDArray[Any], model: _engine.Model, robust_scores: bool | None, block_info: Any = None
) -> npt.NDArray[Any]:
    """The scores of a chunk of a Dask array, which passes the location of the chunk as `block_info`."""
    where = block_info[0]
    first = where["array-location"][0][0]
    if np.isnan(first):  # the lengths of the chunks are unknown
        return transform_part(block, model, robust_scores, None, where["chunk-location"][0])
    samples = read(block, reader="a chunk", minimum=0)
    return model.transform(samples, robust_scores=robust_scores, first=int(first), threads=worker_threads())


def require_names(labels: Sequence[Any], names: Sequence[str] | None) -> None:
    """Reject columns that are not the features of a fit, by name and in order; `names` are those of the fit."""
    if names is None:
        msg = (
            "the columns of X have names, but the model was fitted to features without names, so that they cannot be "
            "matched; pass an array of the features in the order of the fit, or fit to a data frame"
        )
        raise ValueError(msg)
    require_equal_names([str(label) for label in labels], names)


def named(error: Exception, where: str) -> Exception:
    """An error of the same kind whose message starts with the place."""
    kinds = (FileNotFoundError, PermissionError, OSError, TypeError, ValueError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), RuntimeError)
    hint = "; use paths that every worker can open" if issubclass(kind, OSError) else ""
    return kind(f"{where}: {error}{hint}")
