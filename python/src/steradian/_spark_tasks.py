"""Tasks of Spark's Python workers: the Arrow batches of a partition become an array, and its result one row.

The functions here create the tasks; :mod:`steradian._worker_tasks` has the work of a task. Each result is one row of
three columns: its index in the order of the data, the run of adjacent results that it is merged with, and a pickle.
"""

from __future__ import annotations

import pickle
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steradian import _engine, _worker_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    import pyarrow as pa

    Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

RESULT = "run int, place int, found binary"
"""The schema of a result."""

RUN = 8
"""Adjacent results that one task merges: a power of two, so that runs are subtrees; few, since they share memory."""

_ROW_BYTES = (1 << 31) - (1 << 16)
"""The largest binary value of Spark, less its overhead."""

_MOVED = "data must not change or move during a fit: use df.persist(), or write them to files and read those"


class Part(NamedTuple):
    """A partition as it was before the first pass."""

    place: int
    """Index among the non-empty partitions."""
    first: int
    """Index of its first row among all rows."""
    info: _worker_tasks.PartInfo
    checksum: int
    """Checksum of its rows in order."""


def info_task(dtype: str, own_version: str) -> Task:
    """A task that returns the info and checksum of a partition, with host and version of the worker."""

    # It is pickled by value and imports the package itself, so that a worker without the package can report that.
    def partition_info(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle
        import platform

        import pyarrow as pa
        from pyspark import TaskContext

        task: Any = TaskContext.get()
        answer: dict[str, Any] = {"worker": platform.node()}
        try:
            from steradian import _engine

            answer["version"] = _engine.VERSION
            if own_version == _engine.VERSION:
                from steradian import _spark_tasks

                rows = _spark_tasks.rows_of(batches, dtype)
                if not isinstance(rows, Exception) and not len(rows):
                    return
                answer["info"], answer["checksum"] = _spark_tasks.info_and_checksum(rows)
        except ImportError as error:
            answer["missing"] = str(error)
        yield pa.RecordBatch.from_pydict(
            {
                "run": pa.array([0], pa.int32()),
                "place": pa.array([task.partitionId()], pa.int32()),
                "found": pa.array([pickle.dumps(answer)], pa.binary()),
            }
        )

    return partition_info


def info_and_checksum(
    rows: npt.NDArray[Any] | _worker_tasks.PartError,
) -> tuple[_worker_tasks.PartInfo | _worker_tasks.PartError, int]:
    """The info of a partition, or its error, and its checksum."""
    return (rows, 0) if isinstance(rows, Exception) else (_worker_tasks.part_info(rows), _checksum(rows))


def sum_task(job: _worker_tasks.SerializedJob, parts: dict[int, Part], dtype: str) -> Task:
    """A task that computes the partial result of its partition."""

    def sum_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, part = _same_rows(batches, parts, dtype)
        if part is None:
            return
        failed = isinstance(rows, Exception)
        yield _result(part.place, rows if failed else _worker_tasks.sum_part(rows, job, part.first, part.info))

    return sum_partition


def merge_task(job: _worker_tasks.SerializedJob) -> Task:
    """A task that merges runs of adjacent partial results; each merged result has the index of its run."""

    def merge_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        for batch in batches:
            for row in batch.to_pylist():
                runs[row["run"]][row["place"]] = pickle.loads(row["found"])
        for run, results in runs.items():
            yield _result(run, merged(results, job))

    return merge_runs


def merged(
    results: dict[int, _engine.PartialResult | _worker_tasks.PartError], job: _worker_tasks.SerializedJob
) -> _engine.PartialResult | _worker_tasks.PartError:
    """The merged partial result of adjacent ones, which are given by their index."""
    return _worker_tasks.tree_reduce(
        [results[place] for place in sorted(results)],
        lambda left, right, *_: _worker_tasks.merge_results(left, right, job),
    )


def take_task(rows_by_part: dict[int, list[int]], parts: dict[int, Part], dtype: str) -> Task:
    """A task that returns some rows of its partition; `rows_by_part` has them by the index of the partition."""

    def take_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, part = _same_rows(batches, parts, dtype)
        if part is None or part.place not in rows_by_part:
            return
        failed = isinstance(rows, Exception)
        yield _result(part.place, rows if failed else _worker_tasks.take(rows, rows_by_part[part.place]))

    return take_rows


def score_task(model: _engine.Model, robust_scores: bool | None, dtype: str) -> Task:
    """A task that replaces the last column, which contains the features, by scores."""

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        done = 0
        for batch in batches:
            *others, features = batch.columns
            try:
                scores = _worker_tasks.transform_part(_block(features, dtype, 0), model, robust_scores)
            except ValueError as error:
                msg = f"partition {_partition()}, rows counted from its row {done}: {error}"
                raise ValueError(msg) from error
            offsets = pa.array(np.arange(len(scores) + 1, dtype=np.int32) * np.int32(scores.shape[1]))
            column = pa.ListArray.from_arrays(offsets, pa.array(scores.ravel()))
            names = [*batch.schema.names[:-1], "scores"]
            yield pa.RecordBatch.from_arrays([*others, column], names=names)
            done += batch.num_rows

    return score


def rows_of(batches: Iterator[pa.RecordBatch], dtype: str) -> npt.NDArray[Any] | _worker_tasks.PartError:
    """The rows of batches with one column of arrays, or the error of the first bad row."""
    blocks: list[npt.NDArray[Any]] = []
    done = 0
    for batch in batches:
        try:
            block = _block(batch.column(0), dtype, done)
        except ValueError as error:
            return error
        if len(block):
            if blocks and block.shape[1] != blocks[0].shape[1]:
                return ValueError(_unequal(done, block.shape[1], blocks[0].shape[1]))
            blocks.append(block)
            done += len(block)
    return np.concatenate(blocks) if blocks else np.empty((0, 0), np.dtype(dtype))


def _block(column: Any, dtype: str, first: int) -> npt.NDArray[Any]:
    """The values of a column of arrays, without a copy if none is missing; a missing value becomes NaN.

    `first` is the index of the first of these rows.
    """
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        msg = f"row {first + row} is null where an array is expected; drop such rows, for example with df.dropna()"
        raise ValueError(msg)
    widths = np.diff(column.offsets.to_numpy())
    width = int(widths[0]) if len(widths) else 0
    others = np.flatnonzero(widths != width)
    if len(others):
        raise ValueError(_unequal(first + int(others[0]), int(widths[others[0]]), width))
    values: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values.astype(np.dtype(dtype), copy=False).reshape(len(column), width)


def _unequal(row: int, width: int, expected: int) -> str:
    return f"row {row} has {width} values where the first has {expected}; use arrays of equal length"


def _same_rows(batches: Iterator[pa.RecordBatch], parts: dict[int, Part], dtype: str) -> tuple[Any, Part | None]:
    """The rows of this partition, or its error, and the partition as it was at first; `None` if it was empty."""
    rows = rows_of(batches, dtype)
    part = parts.get(_partition())
    if part is None:
        if isinstance(rows, Exception) or len(rows):
            msg = f"partition {_partition()} has rows but was empty at first; {_MOVED}"
            raise ValueError(msg)
        return rows, None
    if isinstance(rows, Exception):
        return rows, part
    if len(rows) != part.info[0] or _checksum(rows) != part.checksum:
        msg = (
            f"partition {_partition()}, which begins at row {part.first}, changed from {part.info[0]} to {len(rows)} "
            f"rows, or to other values or another order; {_MOVED}"
        )
        return ValueError(msg), part
    return rows, part


def _checksum(rows: npt.NDArray[Any]) -> int:
    """The CRC-32 of rows. Spark may recompute rows in another order, and a fit identifies rows by their index."""
    return zlib.crc32(np.ascontiguousarray(rows).data)


def _partition() -> int:
    from pyspark import TaskContext

    task: Any = TaskContext.get()
    return int(task.partitionId())


def _result(place: int, found: Any) -> pa.RecordBatch:
    """The row of a result."""
    import pyarrow as pa

    pickled = pickle.dumps(found, protocol=5)
    if len(pickled) > _ROW_BYTES:
        msg = (
            f"a partial result of {len(pickled)} bytes exceeds the {_ROW_BYTES} bytes of a row of Spark; "
            'use solver="krylov", whose partial results are small'
        )
        pickled = pickle.dumps(ValueError(msg))
    return pa.RecordBatch.from_pydict(
        {
            "run": pa.array([place // RUN], pa.int32()),
            "place": pa.array([place], pa.int32()),
            "found": pa.array([pickled], pa.binary()),
        }
    )
