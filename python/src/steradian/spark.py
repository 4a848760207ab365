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

from steradian import _spark_tasks, _worker_tasks
from steradian._distributed import (
    REFIT_HINT,
    DistributedData,
    infos_or_raise,
    missing_package,
    require_own_version,
    require_width,
)
from steradian._spark_tasks import RESULT, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from steradian._data import SamplesLike
    from steradian._subspace import Subspace
    from steradian._worker_tasks import PartError, PartSum

__all__ = ["Partitions"]

_SINGLE = ("boolean", "byte", "short", "float")
_DOUBLE = ("integer", "long", "double", "decimal")
"""Spark's numeric types that are read as float32 and as float64; several columns are read as the wider dtype."""

_SMALL = 1 << 26
"""Largest size in bytes of a run that the driver merges; one more stage would add about 100 ms to every pass."""


class Partitions(DistributedData):
    """Rows of a Spark data frame, in the order of its partitions."""

    def __init__(self, X: SamplesLike, *, reader: str, minimum: int = 1) -> None:
        self._session = X.sparkSession
        with _spark_job(self._session, "reading the schema"):
            fields = list(X.schema.fields)
            streaming = X.isStreaming
        if streaming:
            msg = (
                "X is a streaming data frame, whose rows cannot be read repeatedly; write them to files and read those"
            )
            raise ValueError(msg)
        _require_unique(fields)
        features, self._column_dtype, names = _features(list(enumerate(fields)))
        with _spark_job(self._session, "reading the partition sizes"):
            self._frame = X.toDF(*_plain(len(fields))).selectExpr(f"{features} as features")
            info_task = _spark_tasks.info_task(self._column_dtype, _worker_tasks.version())
            answers = _by_place(self._frame.mapInArrow(info_task, RESULT))
        for answer in answers.values():
            if "missing" in answer:
                raise missing_package(answer["worker"], answer["missing"])
            require_own_version(answer["worker"], answer["version"])
        infos = infos_or_raise({number: answer["info"] for number, answer in answers.items()})
        super().__init__(infos, names=names, reader=reader, minimum=minimum)
        self._driver_merges = RUN if _largest_result(self.shape[1]) * RUN <= _SMALL else 1

    def _total(self, job: npt.NDArray[np.uint8], name: str, number: int) -> PartSum | PartError:
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

    def _take_rows(self, rows_by_part: dict[int, list[int]]) -> list[npt.NDArray[Any] | PartError]:
        # Rows of other partitions are filtered before they are sent to Python.
        owners = ", ".join(str(self._partitions[place].number) for place in rows_by_part)
        with _spark_job(self._session, "reading single rows"):
            frame = self._frame.where(f"spark_partition_id() IN ({owners})")
            take_task = _spark_tasks.take_task(rows_by_part, self._partitions, self._column_dtype)
            found = _by_place(frame.mapInArrow(take_task, RESULT))
        return [found[place] for place in rows_by_part]


def transformed(estimator: Subspace, X: SamplesLike, robust_scores: bool | None) -> Any:
    """The data frame with an additional column `scores`, one array per row; lazy, as all data frames."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

    model = estimator._model
    with _spark_job(X.sparkSession, "reading the schema"):
        fields = list(X.schema.fields)
    columns = [field.name for field in fields]
    if "scores" in columns:
        msg = 'X already has a column "scores"; rename it first: X.withColumnRenamed("scores", ...)'
        raise ValueError(msg)
    features, dtype, names = _features(_features_of_fit(estimator, fields))
    if names is not None:
        require_width(len(names), model)
    # mapInArrow resolves columns by name, and a name with a dot as the field of a struct.
    plain = _plain(len(fields))
    others = [
        StructField(name, field.dataType, field.nullable, field.metadata)
        for name, field in zip(plain, fields, strict=True)
    ]
    score = FloatType() if dtype == "float32" else DoubleType()
    schema = StructType([*others, StructField("scores", ArrayType(score))])
    with _spark_job(X.sparkSession, "planning the scores"):
        frame = X.toDF(*plain).selectExpr("*", f"{features} as features")
        scored = frame.mapInArrow(_spark_tasks.score_task(model, robust_scores, dtype), schema)
        return scored.toDF(*columns, "scores")


def _plain(count: int) -> list[str]:
    """Names of columns by their position, which any name can be replaced by."""
    return [f"column_{i}" for i in range(count)]


def _require_unique(fields: Sequence[Any]) -> None:
    names = [field.name for field in fields]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        msg = (
            f"{names.count(repeated)} columns of X have the name {repeated!r}; rename or drop all but one: X.toDF(...)"
        )
        raise ValueError(msg)


def _largest_result(features: int) -> int:
    """Bytes of a partial result, without its part per row, whose total does not depend on the number of results."""
    return 8 * features * max(features, 128)


def _features(listed: Sequence[tuple[int, Any]]) -> tuple[str, str, list[str] | None]:
    """The Spark expression of one column of arrays with all features; its dtype; the names of the features.

    `listed` has the columns with their positions, which the expression refers to, as :func:`_plain` names them.
    """
    fields = [field for _, field in listed]
    if not fields:
        msg = "X has no columns; select the columns of the features"
        raise ValueError(msg)
    if len(fields) == 1 and _is_array(fields[0]):
        dtype = _dtype([fields[0].dataType.elementType])
        return f"cast(column_{listed[0][0]} as array<{_spark_name(dtype)}>)", dtype, None
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
    cells = ", ".join(f"cast(column_{position} as {_spark_name(dtype)})" for position, _ in listed)
    return f"array({cells})", dtype, [field.name for field in fields]


def _features_of_fit(estimator: Subspace, fields: Sequence[Any]) -> list[tuple[int, Any]]:
    """The columns with the features of a fit, with their positions: by their names, else the only column of arrays."""
    listed = list(enumerate(fields))
    arrays = [(position, field) for position, field in listed if _is_array(field)]
    names = getattr(estimator, "feature_names_in_", None)
    missing: list[str] = []
    if names is not None:
        by_name = {field.name: (position, field) for position, field in listed}
        missing = [str(name) for name in names if name not in by_name]
        if not missing:
            chosen = [by_name[name] for name in names]
            _require_unique([field for field in fields if field.name in set(names)])
            return chosen
    if len(arrays) == 1:
        return arrays
    if missing:
        msg = f"X has no column {missing[0]!r}, one of {len(missing)} missing features of the fit"
        raise ValueError(msg)
    if len(arrays) > 1:
        msg = f"X has {len(arrays)} columns of arrays; drop all but the one with the features"
        raise ValueError(msg)
    # Columns by their positions could be any other columns.
    count = estimator.n_features_in_
    msg = (
        f"the model was fitted to {count} features without names, so that they cannot be found among the "
        f"{len(fields)} columns of X; add one column of arrays with the features in the order of the fit: "
        'X.withColumn("features", pyspark.sql.functions.array("first", "second", ...)), or fit to named columns'
    )
    raise ValueError(msg)


def _is_array(field: Any) -> bool:
    return bool(field.dataType.typeName() == "array") and field.dataType.elementType.typeName() in (*_SINGLE, *_DOUBLE)


def _dtype(types: Sequence[Any]) -> str:
    return "float32" if all(kind.typeName() in _SINGLE for kind in types) else "float64"


def _spark_name(dtype: str) -> str:
    return {"float32": "float", "float64": "double"}[dtype]


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
