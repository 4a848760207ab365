"""Tasks of Spark's Python workers: the Arrow batches of a partition become an array, and its result one row.

The functions here create the tasks; :mod:`steradian._worker_tasks` has the work of a task. Each result is one row of
three columns: its index in the order of the data, the run of adjacent results that it is merged with, and a pickle.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from steradian import _worker_tasks
from steradian._data import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from steradian import _engine
    from steradian._worker_tasks import Part, PartError, PartInfo, PartSum

    Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

RESULT = "run int, place int, found binary"
"""The schema of a result."""

RUN = 8
"""Adjacent results that one task merges: a power of two, so that runs are subtrees; few, since they share memory."""

_ROW_BYTES = (1 << 31) - (1 << 16)
"""The largest binary value of Spark, less its overhead."""


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
                answer["info"] = _spark_tasks.info_with_checksum(rows)
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


def info_with_checksum(rows: npt.NDArray[Any] | PartError) -> PartInfo | PartError:
    """The info of a partition, or its error.

    It has the checksum from the start: Spark may recompute rows in another order, and a fit identifies rows by index.
    """
    if isinstance(rows, Exception):
        return rows
    answer = _worker_tasks.part_info(rows)
    return answer if isinstance(answer, Exception) else answer[0]._replace(checksum=Samples.from_array(rows).checksum())


def sum_task(job: _worker_tasks.SerializedJob, parts: Sequence[Part], dtype: str) -> Task:
    """A task that computes the partial result of its partition."""

    def sum_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, place = _own_rows(batches, parts, dtype)
        if place is not None:
            failed = isinstance(rows, Exception)
            yield _result(place, rows if failed else _worker_tasks.sum_part(rows, job, parts[place]))

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


def merged(results: dict[int, PartSum | PartError], job: _worker_tasks.SerializedJob) -> PartSum | PartError:
    """The merged partial result of adjacent ones, which are given by their index."""
    return _worker_tasks.tree_reduce(
        [results[place] for place in sorted(results)],
        lambda left, right, *_: _worker_tasks.merge_results(left, right, job),
    )


def take_task(rows_by_part: dict[int, list[int]], parts: Sequence[Part], dtype: str) -> Task:
    """A task that returns some rows of its partition; `rows_by_part` has them by the index in `parts`."""

    def take_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, place = _own_rows(batches, parts, dtype)
        if place in rows_by_part:
            failed = isinstance(rows, Exception)
            yield _result(place, rows if failed else _worker_tasks.take(rows, rows_by_part[place], parts[place]))

    return take_rows


def score_task(model: _engine.Model, robust_scores: bool | None, dtype: str) -> Task:
    """A task that replaces the last column, which contains the features, by scores."""

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        done = 0
        for batch in batches:
            *others, features = batch.columns
            try:
                rows = Samples.from_array(_block(features, dtype, done))
                threads = _worker_tasks.worker_threads()
                scores = model.transform(rows, robust_scores=robust_scores, first=done, threads=threads)
            except ValueError as error:
                raise _worker_tasks.named(error, f"partition {_partition()}, rows counted within it") from error
            offsets = pa.array(np.arange(len(scores) + 1, dtype=np.int32) * np.int32(scores.shape[1]))
            column = pa.ListArray.from_arrays(offsets, pa.array(scores.ravel()))
            names = [*batch.schema.names[:-1], "scores"]
            yield pa.RecordBatch.from_arrays([*others, column], names=names)
            done += batch.num_rows

    return score


def rows_of(batches: Iterator[pa.RecordBatch], dtype: str) -> npt.NDArray[Any] | PartError:
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


def _own_rows(batches: Iterator[pa.RecordBatch], parts: Sequence[Part], dtype: str) -> tuple[Any, int | None]:
    """The rows of this partition, or its error, and its index in `parts`; `None` if it was empty at first."""
    rows, number = rows_of(batches, dtype), _partition()
    place = next((place for place, part in enumerate(parts) if part.number == number), None)
    if place is None and (isinstance(rows, Exception) or len(rows)):
        msg = f"partition {number} has rows but was empty at first; {_worker_tasks.STABLE_HINT}"
        raise ValueError(msg)
    if place is not None and not isinstance(rows, Exception) and not len(rows):
        msg = f"partition {number} has no rows but had {parts[place].info.rows}; {_worker_tasks.STABLE_HINT}"
        return ValueError(msg), place
    return rows, place


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
