"""Fits in a local Spark: the result of one machine, identical bytes also after failures of tasks."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
from conftest import Start
from pyspark.sql import DataFrame, SparkSession
from sklearn.base import clone

import steradian
from steradian import PCA, AngularEmbedding, _spark_tasks, _worker_tasks
from steradian.spark import Partitions


def _samples(n: int = 600, features: int = 12) -> np.ndarray:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 3)) @ (rng.standard_normal((3, features)) * [[5], [3], [2]])
    X += 0.1 * rng.standard_normal((n, features)) + 2
    X[::5] += 30 * rng.standard_normal(features)
    return X


def _arrays(spark: SparkSession, X: np.ndarray, cuts: list[int], element: str = "double") -> DataFrame:
    """One column of arrays, in partitions of these sizes, which are recomputed in every pass."""
    ends = np.cumsum(cuts)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                own = X[ends[part] - cuts[part] : ends[part]]
                yield pa.RecordBatch.from_pydict({"x": pa.array(own.tolist(), pa.list_(pa.from_numpy_dtype(X.dtype)))})

    return spark.range(0, len(cuts), 1, len(cuts)).mapInArrow(rows, f"x array<{element}>")


def _sine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - (a @ b.T) @ b, 2))


def _bytes(model: Any) -> bytes:
    return bytes(model._model.to_bytes())


ESTIMATORS = {
    "ae": AngularEmbedding(3, method="ae"),
    "angular": AngularEmbedding(3, method="angular", loss="sine"),
    "robust": AngularEmbedding(3, n_directions=40),
    "krylov": AngularEmbedding(3, method="ae", solver="krylov"),
    "pca": PCA(3),
    "tae": AngularEmbedding.paper(2, max_angle=60),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_result_of_one_machine_and_the_bytes_of_dask(spark: SparkSession, name: str) -> None:
    X = _samples()
    cuts = [100, 0, 1, 250, 249]
    frame = _arrays(spark, X, cuts)
    model = clone(ESTIMATORS[name]).fit(frame)
    alone = clone(ESTIMATORS[name]).fit(X)
    assert _sine(model.components_, alone.components_) < (1e-6 if name == "krylov" else 1e-9)
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_allclose(model.explained_variance_, alone.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(model.explained_variance_ratio_, alone.explained_variance_ratio_, rtol=1e-6)
    assert _bytes(model) == _bytes(clone(ESTIMATORS[name]).fit(da.from_array(X, chunks=((100, 1, 250, 249), -1))))


def test_identical_bytes_on_one_core_and_two(start: Start) -> None:
    X = _samples(900).astype(np.float32)
    cuts = [100] * 9
    found = []
    for master in ("local[1]", "local[2,4]"):
        frame = _arrays(start(master), X, cuts, "float")
        found.append(_bytes(ESTIMATORS["ae"].fit(frame)))
    found.append(_bytes(ESTIMATORS["ae"].fit(frame)))
    found.append(_bytes(ESTIMATORS["ae"].fit(frame.persist())))
    found.append(_bytes(ESTIMATORS["ae"].fit(da.from_array(X, chunks=(100, -1)))))
    assert len(set(found)) == 1


def test_runs_are_merged_by_tasks_to_the_bytes_of_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = _samples(19 * 20, 5)
    frame = _arrays(spark, X, [20] * 19).persist()
    here = _bytes(PCA(2).fit(frame))
    monkeypatch.setattr("steradian.spark._SMALL", 0)
    assert Partitions(frame, reader="a test")._driver_merges == 1
    assert here == _bytes(PCA(2).fit(frame)) == _bytes(PCA(2).fit(da.from_array(X, chunks=(20, -1))))


def test_columns_are_features_and_keep_their_names(spark: SparkSession) -> None:
    X = _samples(120, 4)
    names, kinds = ["a", "b.c", "d`e", "f g"], ["double", "double", "double", "int"]
    whole = np.column_stack([X[:, :3], np.round(X[:, 3])])
    quoted = ", ".join("`{}` {}".format(n.replace("`", "``"), t) for n, t in zip(names, kinds, strict=True))
    rows = [(*row[:3].tolist(), int(row[3])) for row in whole]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), quoted)
    model = PCA(2).fit(frame)
    assert list(model.feature_names_in_) == names
    alone = PCA(2).fit(whole)
    assert _sine(model.components_, alone.components_) < 1e-9
    # Scores use the features by name, in any order and among other columns.
    other = frame.selectExpr("'it' as name", "`f g`", "`d``e`", "`b.c`", "a")
    scores = model.transform(other)
    assert scores.columns == [*other.columns, "scores"]
    found = scores.collect()
    assert {row.name for row in found} == {"it"}
    np.testing.assert_allclose([row.scores for row in found], alone.transform(whole), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match=r"no column 'a', one of 3 missing features"):
        model.transform(frame.select("`b.c`"))


@pytest.mark.parametrize(
    ("columns", "element"),
    [
        ("cast(x[0] as float) as a, cast(x[1] as tinyint) as b, x[2] > 0 as c", "float32"),
        ("cast(x[0] as float) as a, cast(x[1] as bigint) as b, cast(x[2] as decimal(9, 3)) as c", "float64"),
        ("cast(x as array<float>) as x", "float32"),
        ("cast(x as array<int>) as x", "float64"),
    ],
)
def test_values_are_read_in_the_precision_of_their_type(spark: SparkSession, columns: str, element: str) -> None:
    frame = _arrays(spark, _samples(60, 3), [40, 20]).selectExpr(*columns.split(", ", 2))
    model = PCA(1).fit(frame)
    table = np.array([[float(x) for x in np.ravel(row)] for row in map(list, frame.collect())]).reshape(60, 3)
    alone = PCA(1).fit(table.astype(element))
    assert _sine(model.components_, alone.components_) < 1e-6
    scores = model.transform(frame)
    assert scores.schema["scores"].dataType.simpleString() == f"array<{'float' if element == 'float32' else 'double'}>"
    found = np.array([row.scores for row in scores.collect()])
    np.testing.assert_allclose(found, alone.transform(table.astype(element)), rtol=1e-4, atol=1e-4)


def test_scores_equal_those_of_one_machine_and_other_columns_remain(spark: SparkSession) -> None:
    X = _samples(200, 6)
    model = PCA(2).fit(X)
    frame = _arrays(spark, X, [90, 0, 110]).selectExpr("monotonically_increasing_id() as id", "x")
    scores = model.transform(frame).collect()
    assert [row.id for row in scores] == [row.id for row in frame.select("id").collect()]
    np.testing.assert_array_equal([row.scores for row in scores], model.transform(X))
    np.testing.assert_array_equal([row.x for row in scores], X)
    robust = model.transform(frame, robust_scores=True).select("scores").collect()
    np.testing.assert_allclose(
        [row.scores for row in robust], model.transform(X, robust_scores=True), rtol=1e-9, atol=1e-9
    )
    with pytest.raises(ValueError, match="rename it first"):
        model.transform(model.transform(frame))
    with pytest.raises(Exception, match=r"partition \d, rows counted within it: .* 6 features but the data have 3"):
        model.transform(frame.selectExpr("slice(x, 1, 3) as x")).collect()


def test_columns_are_not_features_by_their_position(spark: SparkSession, tmp_path: Path) -> None:
    """A model without names gave scores of any columns, such as an `id`, if their number fitted."""
    X = _samples(60, 3)
    frame = _arrays(spark, X, [40, 20]).selectExpr("x[0] as a", "x[1] as b", "x[2] as c", "x")
    columns = frame.select("a", "b", "c")
    named = PCA(2).fit(columns)
    named.save(tmp_path / "named")
    PCA(2).fit(X).save(tmp_path / "unnamed")
    named, unnamed = PCA.load(tmp_path / "named"), PCA.load(tmp_path / "unnamed")
    others = frame.selectExpr("monotonically_increasing_id() as id", "c", "b")
    with pytest.raises(ValueError, match=r"3 features without names, .* 3 columns of X; .*functions.array"):
        unnamed.transform(others)
    with pytest.raises(ValueError, match="no column 'a', one of 1 missing features"):
        named.transform(others)
    # The remedy of the message, and columns by their names.
    from pyspark.sql.functions import array

    expected = unnamed.transform(X)
    remedied = unnamed.transform(columns.withColumn("features", array("a", "b", "c"))).select("scores").collect()
    np.testing.assert_allclose([row.scores for row in remedied], expected, rtol=1e-9)
    by_name = named.transform(frame.select("c", "x", "a", "b")).select("scores").collect()
    np.testing.assert_allclose(np.abs([row.scores for row in by_name]), np.abs(expected), rtol=1e-6)


def test_names_that_occur_twice(spark: SparkSession) -> None:
    frame = _arrays(spark, _samples(60, 3), [40, 20]).selectExpr("x[0] as a", "x[1] as b", "x[2] as c")
    model = PCA(2).fit(frame)
    twice = frame.toDF("a", "a", "c")
    with pytest.raises(ValueError, match="2 columns of X have the name 'a'; rename or drop"):
        PCA(2).fit(twice)
    with pytest.raises(ValueError, match="2 columns of X have the name 'a'; rename or drop"):
        model.transform(frame.selectExpr("*", "b as a"))
    # Names that differ by case only, which Spark does not distinguish.
    cases = frame.toDF("a", "A", "b")
    assert list(PCA(2).fit(cases).feature_names_in_) == ["a", "A", "b"]


def test_rows_that_are_not_finite_are_named_within_their_partition(spark: SparkSession) -> None:
    X = _samples(400, 3)
    model = PCA(2).fit(X)
    X[299, 1] = np.nan
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    try:
        with pytest.raises(Exception, match=r"partition 1, rows counted within it: .*NaN at row 199, column 1"):
            model.transform(_arrays(spark, X, [100, 300])).collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_a_streaming_frame_is_rejected(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match=r"streaming data frame, .*write them to files"):
        PCA(1).fit(spark.readStream.format("rate").load().selectExpr("value"))


def test_a_killed_worker_and_a_failed_task_do_not_change_the_bytes(spark: SparkSession, tmp_path: Path) -> None:
    X = _samples(300, 5)
    calm = _bytes(PCA(2).fit(_arrays(spark, X, [100, 100, 100])))

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        partition = TaskContext.get().partitionId()
        yield from batches
        # A partition fails once per pass: the first attempt deletes the flag.
        flag = tmp_path / f"fail-{partition}"
        if flag.exists():
            flag.unlink()
            if partition == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("a task that fails")

    frame = _arrays(spark, X, [100, 100, 100]).mapInArrow(fail_once, "x array<double>")
    failed = []

    def arm(progress: steradian.Progress) -> None:
        for partition in (1, 2):
            flag = tmp_path / f"fail-{partition}"
            failed.append(not flag.exists())
            flag.touch()

    assert _bytes(PCA(2).fit(frame, callback=arm)) == calm
    assert len(failed) == 6
    assert all(failed)


def test_a_worker_that_is_killed_repeatedly(spark: SparkSession) -> None:
    def die(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    frame = _arrays(spark, _samples(20, 3), [10, 10]).mapInArrow(die, "x array<double>")
    model = PCA(2)
    with pytest.raises(RuntimeError, match=r"repeatedly during reading the partition sizes, .*smaller partitions"):
        model.fit(frame)
    assert not hasattr(model, "components_")


def test_the_earliest_row_that_is_not_finite_is_reported(spark: SparkSession) -> None:
    X = _samples(400, 5)
    X[399, 2] = np.nan
    X[123, 1] = np.inf
    with pytest.raises(ValueError, match="row 123"):
        AngularEmbedding(2).fit(_arrays(spark, X, [100, 0, 100, 200]))
    frame = spark.createDataFrame([(1.0, 2), (2.0, None), (3.0, 5)], "a double, b int").coalesce(1)
    with pytest.raises(ValueError, match="row 1"):
        PCA(1).fit(frame)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT explode(array(array(1.0, 2.0), array(3.0))) AS x", "partition 0: row 1 has 1 values .* first has 2"),
        ("SELECT explode(array(array(1.0D), null)) AS x", "partition 0: row 1 is null where an array is expected"),
        ("SELECT array(id, id) AS x FROM range(0, 9, 1, 2) WHERE id > 99", r"0 sample\(s\) while a minimum of 2"),
        ("SELECT IF(id < 5, array(id), array(id, id)) AS x FROM range(0, 10, 1, 2)", "partition 1 .* 2 features"),
        ("SELECT array() AS x", "column 'x' is not numeric but array<void>"),
        ("SELECT 1 AS a, 'b' AS b", "column 'b' is not numeric but string; drop or encode it"),
        ("SELECT 1 AS a, array(1, 2) AS b", r"column 'b' of arrays is one of 2 columns; .*df.select\(\"b\"\)"),
    ],
)
def test_partitions_that_are_rejected(spark: SparkSession, query: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PCA(1).fit(spark.sql(query))


def test_vectors_of_mllib_are_rejected_with_a_remedy(spark: SparkSession) -> None:
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.sql.functions import col

    vectors = _arrays(spark, _samples(40, 3), [40]).select(array_to_vector(col("x")).alias("v"))
    with pytest.raises(ValueError, match=r'vector_to_array\("v"\)'):
        PCA(1).fit(vectors)
    assert PCA(1).fit(vectors.select(vector_to_array("v"))).n_features_in_ == 3


def test_options_that_clusters_do_not_support(spark: SparkSession) -> None:
    frame = _arrays(spark, _samples(60, 4), [30, 30])
    with pytest.raises(ValueError, match="solver krylov"):
        AngularEmbedding(2, method="ae", solver="gram").fit(frame)
    with pytest.raises(TypeError, match="EMPCA does not support Spark data frames"):
        steradian.EMPCA(2).fit(frame)
    model = PCA(2).fit(frame)
    with pytest.raises(TypeError, match="mapInPandas"):
        model.predict(frame)
    copy = pickle.loads(pickle.dumps(model))
    assert _bytes(copy) == _bytes(model)


def test_a_changed_row_order_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    def reverse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.take(pa.array(np.arange(batch.num_rows)[::-1])) if (tmp_path / "reversed").exists() else batch

    frame = _arrays(spark, _samples(60, 4), [30, 30]).mapInArrow(reverse, "x array<double>")
    with pytest.raises(
        ValueError, match=r"partition 0, which begins at row 0, changed to other values or another order; .*persist\(\)"
    ):
        PCA(2).fit(frame, callback=lambda _: (tmp_path / "reversed").touch())


def test_passes_are_reported_and_a_stopped_session_is_a_clear_error(spark: SparkSession) -> None:
    frame = _arrays(spark, _samples(60, 4), [30, 30])
    received: list[steradian.Progress] = []
    spark.sparkContext.setJobDescription("mine")
    model = PCA(2).fit(frame, callback=received.append)
    assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    assert [(p.name, p.pass_number) for p in received] == [("check", 1), ("scatter", 2), ("distances", 3)]
    assert all(p.bytes_read == p.bytes_total == 60 * 4 * 8 for p in received)
    with pytest.raises(ConnectionError, match=r"lost the Spark session during pass 2 \(scatter\); .*fit again"):
        model.fit(frame, callback=lambda _: spark.stop())
    assert not hasattr(model, "components_")


def test_workers_with_another_version_or_none_are_rejected_by_name(start: Start, tmp_path: Path) -> None:
    package = tmp_path / "steradian"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_engine.py").write_text('VERSION = "0.0.9"\n')
    frame = _arrays(start(PYTHONPATH=str(tmp_path)), _samples(60, 4), [30, 30])
    with pytest.raises(ValueError, match=rf"worker {os.uname().nodename} has steradian 0.0.9 but this process has"):
        PCA(2).fit(frame)
    (package / "_engine.py").unlink()
    frame = _arrays(start(PYTHONPATH=str(tmp_path)), _samples(60, 4), [30, 30])
    with pytest.raises(
        TypeError, match=rf"worker {os.uname().nodename} cannot import the package steradian .* install"
    ):
        PCA(2).fit(frame)


def test_a_result_larger_than_a_row_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steradian._spark_tasks._ROW_BYTES", 100)
    found = pickle.loads(_spark_tasks._result(3, np.zeros(100)).column(2)[0].as_py())
    assert "krylov" in str(found)


def test_runs_are_subtrees_of_the_whole_tree() -> None:
    def merge(left: str, right: str, _level: int, _place: int) -> str:
        return f"({left}{right})"

    for count in range(1, 70):
        leaves = [chr(200 + i) for i in range(count)]
        runs = leaves
        while len(runs) > 1:
            cut = range(0, len(runs), _spark_tasks.RUN)
            runs = [_worker_tasks.tree_reduce(runs[i : i + _spark_tasks.RUN], merge) for i in cut]
        assert runs[0] == _worker_tasks.tree_reduce(leaves, merge)


def test_pyspark_is_not_imported_before_it_is_needed() -> None:
    program = "import sys, numpy, steradian; steradian.PCA(1).fit(numpy.eye(3)); print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
