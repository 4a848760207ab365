"""Fits of data in Spark: each worker reduces its partitions; the driver receives one partial result per pass.

Users do not call this module: ``fit`` and ``transform`` of :class:`~steradian.AngularEmbedding` and
:class:`~steradian.PCA` take a Spark data frame: numeric columns, which are the features and keep their names, or one
column of arrays of equal length. The driver runs the control flow. Each pass is one Spark job: ``mapInArrow`` reduces
each partition, and rounds of ``mapInArrow`` merge runs of adjacent partial results along a fixed binary tree until one
is left for the driver, or a run of small ones. The model depends on the partition boundaries, but not on the number of
executors or cores, nor on tasks that were retried.

Spark's data frames have no row order, but a fit identifies rows by index: partition by partition, in the order within
each. This order must be the same in every pass, so every pass compares a checksum of each partition with the first one.
A data frame that is persisted, or read from files, keeps its order.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from steradian import _engine, _spark_tasks, _worker_tasks
from steradian._distributed import (
    REFIT_HINT,
    DistributedData,
    missing_package,
    part_infos_or_raise,
    require_own_version,
    require_width,
)
from steradian._spark_tasks import RESULT, RUN, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from steradian._data import SamplesLike
    from steradian._subspace import Subspace

__all__ = ["Partitions"]

_SINGLE = ("boolean", "byte", "short", "float")
_DOUBLE = ("integer", "long", "double", "decimal")
"""Spark's numeric types that are read as float32 and as float64; several columns are read as the wider dtype."""

_SMALL = 1 << 26
"""Largest size in bytes of a run that the driver merges; one more stage would add about 100 ms to every pass."""


class Partitions(DistributedData):
    """Rows of a Spark data frame, in the order of its partitions."""

    def __init__(self, X: SamplesLike, *, reader: str, minimum: int = 1) -> None:
        features, self._column_dtype, self.feature_names = _features(X.schema.fields)
        self._session = X.sparkSession
        self._frame = X.selectExpr(f"{features} as features")
        with _spark_job(self._session, "reading the partition sizes"):
            info_task = _spark_tasks.info_task(self._column_dtype, _worker_tasks.version())
            answers = _by_place(self._frame.mapInArrow(info_task, RESULT))
        for answer in answers.values():
            if "missing" in answer:
                raise missing_package(answer["worker"], answer["missing"])
            require_own_version(answer["worker"], answer["version"])
        infos = part_infos_or_raise({number: answer["info"] for number, answer in answers.items()})
        super().__init__(infos, reader=reader, minimum=minimum)
        self._driver_merges = RUN if _largest_result(self.shape[1]) * RUN <= _SMALL else 1
        checksums = [answer["checksum"] for answer in answers.values()]
        listed = zip(answers, [0, *self._ends], infos, checksums, strict=False)
        self._partitions = {
            number: Part(i, first, info, checksum) for i, (number, first, info, checksum) in enumerate(listed)
        }

    def _total(
        self, job: npt.NDArray[np.uint8], name: str, number: int
    ) -> _engine.PartialResult | _worker_tasks.PartError:
        """The total, by one task per partition and one per run of results; the driver merges the last small run."""
        serialized = _worker_tasks.SerializedJob(job, _worker_tasks.version())
        with _spark_job(self._session, f"pass {number} ({name})"):
            sum_task = _spark_tasks.sum_task(serialized, self._partitions, self._column_dtype)
            results = self._frame.mapInArrow(sum_task, RESULT)
            left = len(self._partitions)
            while left > self._driver_merges:
                left = -(-left // RUN)
                results = results.repartition(left, "run").mapInArrow(_spark_tasks.merge_task(serialized), RESULT)
            found = _by_place(results)
        return _spark_tasks.merged(found, serialized)

    def _take_rows(self, rows_by_part: dict[int, list[int]]) -> list[npt.NDArray[Any]]:
        # Rows of other partitions are filtered before they are sent to Python.
        owners = ", ".join(str(number) for number, part in self._partitions.items() if part.place in rows_by_part)
        with _spark_job(self._session, "reading single rows"):
            frame = self._frame.where(f"spark_partition_id() IN ({owners})")
            take_task = _spark_tasks.take_task(rows_by_part, self._partitions, self._column_dtype)
            found = _by_place(frame.mapInArrow(take_task, RESULT))
        for rows in found.values():
            if isinstance(rows, Exception):
                raise rows
        return [found[place] for place in rows_by_part]


def transformed(estimator: Subspace, X: SamplesLike, robust_scores: bool | None) -> Any:
    """The data frame with an additional column `scores`, one array per row; lazy, as all data frames."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

    model = estimator._model
    if "scores" in X.columns:
        msg = 'X already has a column "scores"; rename it first: X.withColumnRenamed("scores", ...)'
        raise ValueError(msg)
    features, dtype, names = _features(_features_of_fit(estimator, X))
    if names is not None:
        require_width(len(names), model)
    # mapInArrow resolves columns by name, and a name with a dot as the field of a struct.
    plain = [f"column_{i}" for i in range(len(X.columns))]
    others = [
        StructField(name, field.dataType, field.nullable, field.metadata)
        for name, field in zip(plain, X.schema.fields, strict=True)
    ]
    score = FloatType() if dtype == "float32" else DoubleType()
    schema = StructType([*others, StructField("scores", ArrayType(score))])
    frame = X.selectExpr("*", f"{features} as features").toDF(*plain, "features")
    return frame.mapInArrow(_spark_tasks.score_task(model, robust_scores, dtype), schema).toDF(*X.columns, "scores")


def _largest_result(features: int) -> int:
    """Bytes of a partial result, without its part per row, whose total does not depend on the number of results."""
    return 8 * features * max(features, 128)


def _features(fields: Sequence[Any]) -> tuple[str, str, list[str] | None]:
    """The Spark expression of one column of arrays with all features; its dtype; the names of the features."""
    if len(fields) == 1 and _is_array(fields[0]):
        dtype = _dtype([fields[0].dataType.elementType])
        return f"cast({_quoted(fields[0].name)} as array<{_spark_name(dtype)}>)", dtype, None
    for field in fields:
        if field.dataType.simpleString() == "vector":
            msg = (
                f"column {field.name!r} contains MLlib vectors; convert them to arrays: "
                f'df.select(pyspark.ml.functions.vector_to_array("{field.name}"))'
            )
            raise ValueError(msg)
        if _is_array(field):
            msg = (
                f'column {field.name!r} of arrays is one of {len(fields)} columns; select it: df.select("{field.name}")'
            )
            raise ValueError(msg)
        if field.dataType.typeName() not in (*_SINGLE, *_DOUBLE):
            msg = f"column {field.name!r} is not numeric but {field.dataType.simpleString()}; drop or encode it"
            raise ValueError(msg)
    dtype = _dtype([field.dataType for field in fields])
    cells = ", ".join(f"cast({_quoted(field.name)} as {_spark_name(dtype)})" for field in fields)
    return f"array({cells})", dtype, [field.name for field in fields]


def _features_of_fit(estimator: Subspace, X: SamplesLike) -> list[Any]:
    """The columns with the features of a fit: by their names, else the only column of arrays, else all."""
    fields: list[Any] = list(X.schema.fields)
    arrays = [field for field in fields if _is_array(field)]
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        by_name = {field.name: field for field in fields}
        missing = [name for name in names if name not in by_name]
        if not missing:
            return [by_name[name] for name in names]
        if not arrays:
            msg = f"X has no column {missing[0]!r}, one of {len(missing)} missing features of the fit"
            raise ValueError(msg)
    return arrays if len(arrays) == 1 else fields


def _is_array(field: Any) -> bool:
    return bool(field.dataType.typeName() == "array") and field.dataType.elementType.typeName() in (*_SINGLE, *_DOUBLE)


def _dtype(types: Sequence[Any]) -> str:
    return "float32" if all(kind.typeName() in _SINGLE for kind in types) else "float64"


def _spark_name(dtype: str) -> str:
    return {"float32": "float", "float64": "double"}[dtype]


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _by_place(results: Any) -> dict[int, Any]:
    """The results of tasks by their index, in that order."""
    rows = sorted(results.collect(), key=lambda row: row.place)
    return {row.place: pickle.loads(row.found) for row in rows}


@contextmanager
def _spark_job(session: Any, doing: str) -> Iterator[None]:
    """Describes the Spark jobs of this block; failures of Spark become errors of one line."""
    context = getattr(session, "sparkContext", None)  # Spark Connect has none, and no descriptions of jobs
    try:
        before = context and context.getLocalProperty("spark.job.description")
        if context is not None:
            context.setJobDescription(f"steradian: {doing}")
        yield
    except Exception as error:
        if _is_gone(session):
            msg = f"lost the Spark session during {doing}; start one, create the data frame there, {REFIT_HINT}"
            raise ConnectionError(msg) from error
        if any(words in str(error) for words in ("Python worker exited unexpectedly", "ExecutorLostFailure")):
            msg = (
                f"workers were killed repeatedly during {doing}, most likely out of memory; use smaller partitions "
                "(df.repartition(n).persist()) or workers with more memory (spark.executor.memoryOverhead)"
            )
            raise RuntimeError(msg) from error
        raise
    finally:
        if context is not None and not _is_gone(session):
            context.setJobDescription(before)


def _is_gone(session: Any) -> bool:
    """True if a session was stopped or its process has ended."""
    context = getattr(session, "sparkContext", None)
    if context is None:
        return bool(getattr(session, "is_stopped", False))
    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:
        return True
