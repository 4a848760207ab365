"""What runs in Spark's Python workers: the Arrow batches of a partition become a part, and what it gives becomes a row.

The functions here make the tasks; :mod:`steradian._parts` says what a task does with a part. Every result is one row of
three columns: its place in the order of the data, the run of neighbours that it is merged with, and a pickled value.
"""

from __future__ import annotations

import pickle
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steradian import _engine, _parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    import pyarrow as pa

    Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

RESULT = "run int, place int, found binary"
"""The columns of a result, as Spark writes schemas."""

RUN = 8
"""Neighbours that one task merges: a power of two, so that runs are subtrees; few, since their sums share memory."""

_ROW_BYTES = (1 << 31) - (1 << 16)
"""What a cell of Spark can hold, less what goes with it."""

_MOVED = "data must not change or move in a fit: keep them by df.persist(), or write them to files and read those"


class Part(NamedTuple):
    """A partition as it was found at first."""

    place: int
    """Its number among those that have rows."""
    first: int
    """The number of its first row among all rows."""
    look: _parts.Look
    mark: int
    """A checksum of its rows in their order."""


def looking(element: str, own_version: str) -> Task:
    """A task that says what a partition is, and who asks: host, version, and why the package is missing if it is."""

    # It travels by value and imports the package itself, so that a worker without the package can say so.
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
                from steradian import _spark_parts

                rows = _spark_parts.rows_of(batches, element)
                if not isinstance(rows, Exception) and not len(rows):
                    return
                answer["look"], answer["mark"] = _spark_parts.looked_at(rows)
        except ImportError as error:
            answer["missing"] = str(error)
        yield pa.RecordBatch.from_pydict(
            {
                "run": pa.array([0], pa.int32()),
                "place": pa.array([task.partitionId()], pa.int32()),
                "found": pa.array([pickle.dumps(answer)], pa.binary()),
            }
        )

    return look


def looked_at(rows: npt.NDArray[Any] | _parts.Wrong) -> tuple[_parts.Look | _parts.Wrong, int]:
    """What a partition is, and its mark."""
    return (rows, 0) if isinstance(rows, Exception) else (_parts.look(rows), _mark(rows))


def summing(parcel: _parts.Parcel, parts: dict[int, Part], element: str) -> Task:
    """A task that sums its partition."""

    def sum_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, part = _same_rows(batches, parts, element)
        if part is None:
            return
        wrong = isinstance(rows, Exception)
        yield _result(part.place, rows if wrong else _parts.sum_part(rows, parcel, part.first, part.look))

    return sum_partition


def merging(parcel: _parts.Parcel) -> Task:
    """A task that merges runs of neighbours, each to one sum that has the place of its run."""

    def merge_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        for batch in batches:
            for row in batch.to_pylist():
                runs[row["run"]][row["place"]] = pickle.loads(row["found"])
        for run, sums in runs.items():
            yield _result(run, merged(sums, parcel))

    return merge_runs


def merged(sums: dict[int, _engine.Sum | _parts.Wrong], parcel: _parts.Parcel) -> _engine.Sum | _parts.Wrong:
    """The sum of neighbours, which are given by their places."""
    return _parts.along_tree(
        [sums[place] for place in sorted(sums)], lambda left, right, *_: _parts.merge_sums(left, right, parcel)
    )


def taking(wanted: dict[int, list[int]], parts: dict[int, Part], element: str) -> Task:
    """A task that takes some rows of its partition; `wanted` has them by the place of the partition."""

    def take_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows, part = _same_rows(batches, parts, element)
        if part is None or part.place not in wanted:
            return
        wrong = isinstance(rows, Exception)
        yield _result(part.place, rows if wrong else _parts.take(rows, wanted[part.place]))

    return take_rows


def scoring(model: _engine.Model, robust_scores: bool | None, element: str) -> Task:
    """A task that puts scores in the place of the last column, which holds the numbers of the features."""

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        seen = 0
        for batch in batches:
            *others, numbers = batch.columns
            try:
                scores = _parts.transform_part(_block(numbers, element, 0), model, robust_scores)
            except ValueError as wrong:
                msg = f"partition {_partition()}, rows counted from its row {seen}: {wrong}"
                raise ValueError(msg) from wrong
            offsets = pa.array(np.arange(len(scores) + 1, dtype=np.int32) * np.int32(scores.shape[1]))
            column = pa.ListArray.from_arrays(offsets, pa.array(scores.ravel()))
            names = [*batch.schema.names[:-1], "scores"]
            yield pa.RecordBatch.from_arrays([*others, column], names=names)
            seen += batch.num_rows

    return score


def rows_of(batches: Iterator[pa.RecordBatch], element: str) -> npt.NDArray[Any] | _parts.Wrong:
    """The rows of batches of one column of arrays, or what is wrong with them."""
    blocks: list[npt.NDArray[Any]] = []
    seen = 0
    for batch in batches:
        try:
            block = _block(batch.column(0), element, seen)
        except ValueError as wrong:
            return wrong
        if len(block):
            if blocks and block.shape[1] != blocks[0].shape[1]:
                return ValueError(_unequal(seen, block.shape[1], blocks[0].shape[1]))
            blocks.append(block)
            seen += len(block)
    return np.concatenate(blocks) if blocks else np.empty((0, 0), np.dtype(element))


def _block(column: Any, element: str, first: int) -> npt.NDArray[Any]:
    """The numbers of a column of arrays, where they lie if none is missing; a missing one is a NaN.

    `first` is the number of the first of these rows.
    """
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        msg = f"row {first + row} has no array but null; leave such rows out, for example by df.dropna()"
        raise ValueError(msg)
    widths = np.diff(column.offsets.to_numpy())
    width = int(widths[0]) if len(widths) else 0
    others = np.flatnonzero(widths != width)
    if len(others):
        raise ValueError(_unequal(first + int(others[0]), int(widths[others[0]]), width))
    numbers: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return numbers.astype(np.dtype(element), copy=False).reshape(len(column), width)


def _unequal(row: int, width: int, wanted: int) -> str:
    return f"row {row} has {width} numbers where the first has {wanted}; give arrays of one length"


def _same_rows(batches: Iterator[pa.RecordBatch], parts: dict[int, Part], element: str) -> tuple[Any, Part | None]:
    """The rows of this partition, or what is wrong with them, and the partition as it was; `None` where it is empty."""
    rows = rows_of(batches, element)
    part = parts.get(_partition())
    if part is None:
        if isinstance(rows, Exception) or len(rows):
            msg = f"partition {_partition()} has rows where it had none at first; {_MOVED}"
            raise ValueError(msg)
        return rows, None
    if isinstance(rows, Exception):
        return rows, part
    if len(rows) != part.look[0] or _mark(rows) != part.mark:
        msg = (
            f"partition {_partition()}, which begins at row {part.first}, had {part.look[0]} rows at first and now has "
            f"{len(rows)}, or others, or the same in another order; {_MOVED}"
        )
        return ValueError(msg), part
    return rows, part


def _mark(rows: npt.NDArray[Any]) -> int:
    """A checksum. Spark may make rows again in another order, and a fit knows rows by their number."""
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
            f"a sum of {len(pickled)} bytes does not fit into a row of Spark, which holds {_ROW_BYTES}; "
            'use solver="krylov", whose sums are small'
        )
        pickled = pickle.dumps(ValueError(msg))
    return pa.RecordBatch.from_pydict(
        {
            "run": pa.array([place // RUN], pa.int32()),
            "place": pa.array([place], pa.int32()),
            "found": pa.array([pickled], pa.binary()),
        }
    )
