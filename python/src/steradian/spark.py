"""Fits on data that live in Spark: passes go to the rows, sums come back.

There is nothing to call here: ``fit`` and ``transform`` of :class:`~steradian.AngularEmbedding` and
:class:`~steradian.PCA` take a Spark data frame: columns of numbers, which are the features and keep their names, or one
column of arrays of one length. The driver runs the control flow. Each pass is one Spark job: ``mapInArrow`` sums each
partition where it is, and rounds of ``mapInArrow`` merge runs of neighbours along a fixed binary tree until one sum is
left for the driver, or a run of small ones. So the model depends on where partitions begin and end, but not on the
number of executors or cores, nor on tasks that were run again.

Spark's frames have no order of rows, but a fit knows rows by number: partition by partition, as they lie. They must lie
the same way in every pass, so every pass compares a checksum of each partition with that of the first. A frame that is
persisted, or read from files, keeps its rows in place.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from steradian import _engine, _parts, _spark_parts
from steradian._elsewhere import AGAIN, Elsewhere, looks_or_raise, require_own_version, require_width, without_package
from steradian._spark_parts import RESULT, RUN, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from steradian._data import SamplesLike
    from steradian._subspace import Subspace

__all__ = ["Partitions"]

_SINGLE = ("boolean", "byte", "short", "float")
_DOUBLE = ("integer", "long", "double", "decimal")
"""Spark's numbers, by the type that they are read as; those of several columns meet in the wider one."""

_SMALL = 1 << 26
"""Bytes of sums that come to the driver rather than to one more stage, which takes some 100 ms of every pass."""


class Partitions(Elsewhere):
    """Rows of a Spark data frame, in the order of its partitions."""

    def __init__(self, X: SamplesLike, *, reader: str, minimum: int = 1) -> None:
        numbers, self._numbers_as, self.feature_names = _features(X.schema.fields)
        self._session = X.sparkSession
        self._frame = X.selectExpr(f"{numbers} as numbers")
        with _spark_job(self._session, "looking at the partitions"):
            looking = _spark_parts.looking(self._numbers_as, _parts.version())
            answers = _by_place(self._frame.mapInArrow(looking, RESULT))
        for answer in answers.values():
            if "missing" in answer:
                raise without_package(answer["worker"], answer["missing"])
            require_own_version(answer["worker"], answer["version"])
        looks = looks_or_raise({number: answer["look"] for number, answer in answers.items()})
        super().__init__(looks, reader=reader, minimum=minimum)
        self._most_here = RUN if _largest_sum(self.shape[1]) * RUN <= _SMALL else 1
        marks = [answer["mark"] for answer in answers.values()]
        listed = zip(answers, [0, *self._ends], looks, marks, strict=False)
        self._partitions = {number: Part(i, first, look, mark) for i, (number, first, look, mark) in enumerate(listed)}

    def _summed(self, job: npt.NDArray[np.uint8], name: str, number: int) -> _engine.Sum | _parts.Wrong:
        """By one task a partition, one for each run of neighbours, and so on; small sums of the last run meet here."""
        parcel = _parts.Parcel(job, _parts.version())
        with _spark_job(self._session, f"pass {number} ({name})"):
            sums = self._frame.mapInArrow(_spark_parts.summing(parcel, self._partitions, self._numbers_as), RESULT)
            left = len(self._partitions)
            while left > self._most_here:
                left = -(-left // RUN)
                sums = sums.repartition(left, "run").mapInArrow(_spark_parts.merging(parcel), RESULT)
            found = _by_place(sums)
        return _spark_parts.merged(found, parcel)

    def _taken(self, wanted: dict[int, list[int]]) -> list[npt.NDArray[Any]]:
        # Rows of other partitions are left out before they travel to Python.
        owners = ", ".join(str(number) for number, part in self._partitions.items() if part.place in wanted)
        with _spark_job(self._session, "reading single rows"):
            frame = self._frame.where(f"spark_partition_id() IN ({owners})")
            taking = _spark_parts.taking(wanted, self._partitions, self._numbers_as)
            found = _by_place(frame.mapInArrow(taking, RESULT))
        for rows in found.values():
            if isinstance(rows, Exception):
                raise rows
        return [found[place] for place in wanted]


def transformed(estimator: Subspace, X: SamplesLike, robust_scores: bool | None) -> Any:
    """The frame with one column more, `scores`: an array for each row. It is as lazy as any frame."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

    model = estimator._model
    if "scores" in X.columns:
        msg = 'X has a column "scores" already; rename it first, by X.withColumnRenamed("scores", ...)'
        raise ValueError(msg)
    numbers, element, names = _features(_features_of_fit(estimator, X))
    if names is not None:
        require_width(len(names), model)
    # mapInArrow looks columns up by name, so that a name with a dot would be the field of a struct.
    plain = [f"column_{i}" for i in range(len(X.columns))]
    others = [
        StructField(name, field.dataType, field.nullable, field.metadata)
        for name, field in zip(plain, X.schema.fields, strict=True)
    ]
    score = FloatType() if element == "float32" else DoubleType()
    schema = StructType([*others, StructField("scores", ArrayType(score))])
    frame = X.selectExpr("*", f"{numbers} as numbers").toDF(*plain, "numbers")
    return frame.mapInArrow(_spark_parts.scoring(model, robust_scores, element), schema).toDF(*X.columns, "scores")


def _largest_sum(features: int) -> int:
    """Bytes of a sum, but for what it holds of every row, which is no more in one sum than in several."""
    return 8 * features * max(features, 128)


def _features(fields: Sequence[Any]) -> tuple[str, str, list[str] | None]:
    """Columns as one column of arrays, in Spark's words; the type of its numbers; and the names of the features."""
    if len(fields) == 1 and _is_array(fields[0]):
        element = _element([fields[0].dataType.elementType])
        return f"cast({_quoted(fields[0].name)} as array<{_spark_name(element)}>)", element, None
    for field in fields:
        if field.dataType.simpleString() == "vector":
            msg = (
                f"column {field.name!r} holds MLlib's vectors; make arrays of them first, by "
                f'df.select(pyspark.ml.functions.vector_to_array("{field.name}"))'
            )
            raise ValueError(msg)
        if _is_array(field):
            msg = (
                f'column {field.name!r} of arrays is one of {len(fields)}; take it alone, by df.select("{field.name}")'
            )
            raise ValueError(msg)
        if field.dataType.typeName() not in (*_SINGLE, *_DOUBLE):
            msg = (
                f"column {field.name!r} does not hold numbers but {field.dataType.simpleString()}; leave it out, or "
                "encode it as numbers first"
            )
            raise ValueError(msg)
    element = _element([field.dataType for field in fields])
    cells = ", ".join(f"cast({_quoted(field.name)} as {_spark_name(element)})" for field in fields)
    return f"array({cells})", element, [field.name for field in fields]


def _features_of_fit(estimator: Subspace, X: SamplesLike) -> list[Any]:
    """The columns that hold the features of a fit: those of their names, else the only one of arrays, else all."""
    fields: list[Any] = list(X.schema.fields)
    arrays = [field for field in fields if _is_array(field)]
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        by_name = {field.name: field for field in fields}
        missing = [name for name in names if name not in by_name]
        if not missing:
            return [by_name[name] for name in names]
        if not arrays:
            msg = f"X has no column {missing[0]!r}, one of {len(missing)} that the model was fitted on and X lacks"
            raise ValueError(msg)
    return arrays if len(arrays) == 1 else fields


def _is_array(field: Any) -> bool:
    return bool(field.dataType.typeName() == "array") and field.dataType.elementType.typeName() in (*_SINGLE, *_DOUBLE)


def _element(types: Sequence[Any]) -> str:
    return "float32" if all(kind.typeName() in _SINGLE for kind in types) else "float64"


def _spark_name(element: str) -> str:
    return {"float32": "float", "float64": "double"}[element]


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _by_place(results: Any) -> dict[int, Any]:
    """What tasks found, by their places and in that order."""
    rows = sorted(results.collect(), key=lambda row: row.place)
    return {row.place: pickle.loads(row.found) for row in rows}


@contextmanager
def _spark_job(session: Any, doing: str) -> Iterator[None]:
    """Jobs of this block are named after what they do; what goes wrong with Spark is said in one line."""
    context = getattr(session, "sparkContext", None)  # Spark Connect has none, and no names of jobs
    try:
        before = context and context.getLocalProperty("spark.job.description")
        if context is not None:
            context.setJobDescription(f"steradian: {doing}")
        yield
    except Exception as error:
        if _is_gone(session):
            msg = f"the Spark session went away during {doing}; start one, make the frame there, {AGAIN}"
            raise ConnectionError(msg) from error
        if any(words in str(error) for words in ("Python worker exited unexpectedly", "ExecutorLostFailure")):
            msg = (
                f"workers died again and again during {doing}; the usual reason is memory: use smaller partitions, "
                "by df.repartition(n).persist(), or give workers more memory, by spark.executor.memoryOverhead"
            )
            raise RuntimeError(msg) from error
        raise
    finally:
        if context is not None and not _is_gone(session):
            context.setJobDescription(before)


def _is_gone(session: Any) -> bool:
    """Whether a session was stopped, or its process is no more."""
    context = getattr(session, "sparkContext", None)
    if context is None:
        return bool(getattr(session, "is_stopped", False))
    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:
        return True
