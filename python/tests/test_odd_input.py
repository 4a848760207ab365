"""Input of every odd kind: a right result, or a documented exception with a remedy; nothing else leaves the package."""

from __future__ import annotations

import array
import datetime
import decimal
import fractions
import io
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import steradian
from steradian import PCA, AngularEmbedding, partial

GOOD = np.random.default_rng(0).standard_normal((30, 4)) * [9, 5, 2, 1] + 3
NAMED = PCA(2).fit(pd.DataFrame(GOOD, columns=list("abcd")))
FITTED = [PCA(2).fit(GOOD), AngularEmbedding(2, n_directions=8).fit(GOOD), NAMED]
MEAN = partial.mean(4)

USES: dict[str, Callable[[Any], Any]] = {
    "fit of PCA": lambda X: PCA(1).fit(X).components_,
    "fit of AngularEmbedding": lambda X: AngularEmbedding(1, n_directions=8).fit(X).components_,
    "fit of ConeScreen": lambda X: steradian.ConeScreen(60).fit(X).cutoff_,
    "transform": lambda X: [model.transform(X) for model in FITTED[:2]],
    "transform by names": NAMED.transform,
    "predict": FITTED[0].predict,
    "diagnose": lambda X: FITTED[1].diagnose(X).angle_degrees,
    "inverse_transform": FITTED[0].inverse_transform,
    "sum of a pass": lambda X: MEAN.sum(X, 0),
}

REMEDIES = ("; ", "use ", "Reshape", "required by", "Feature names", "feature names", "features as input", "expected")
"""Words of messages that say what to do, or what was expected; some messages are those of scikit-learn."""


def check(X: Any) -> None:
    """Every use of `X` returns, or raises a documented exception with a remedy."""
    for name, use in USES.items():
        raised: BaseException | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                use(X)
            except BaseException as error:
                raised = error
        if raised is not None:
            problem = f"{name} raised {type(raised).__name__}: {raised}"
            assert isinstance(raised, (ValueError, TypeError, OSError)), problem
            words = (str(X),) if isinstance(raised, OSError) else REMEDIES
            assert any(word in str(raised) for word in words), problem


DTYPES = [
    *("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", ">u2", ">i4", ">f4", ">f8", "?"),
    *("g", "c8", "c16", "O", "U3", "S3", "M8[s]", "m8[ns]", "V5", "T"),
]

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-3, 3),
    st.sampled_from([0.0, -0.0, 1e308, -1.7e308, 5e-324, 1e-154, 2**63, 2**64, 10**400, True, None]),
)
objects = st.one_of(
    numbers,
    st.sampled_from(
        [
            "x",
            "1.5",
            "",
            b"1",
            1j,
            {},
            [],
            [1.0],
            (1, 2),
            decimal.Decimal("1.5"),
            decimal.Decimal("NaN"),
            fractions.Fraction(1, 3),
            datetime.date(2020, 1, 1),
            np.float32(2),
            np.datetime64("NaT"),
            pd.NA,
            pd.NaT,
            object(),
        ]
    ),
)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """An array of any dtype, shape, strides, byte order and protection."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 4, 4, 7]), min_size=0, max_size=4))
    seed = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype == "T":
        made = np.full(shape, "x", dtype=np.dtypes.StringDType())
    elif dtype == "O":
        made = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            made[index] = draw(objects) if made.size < 30 else 1.0
    else:
        made = (seed.standard_normal(shape) * 50).astype("f8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = made.astype("i8").astype(dtype) if dtype[0] in "USMmV" else np.asarray(made).astype(dtype)
    for axis in range(made.ndim):
        step = draw(st.sampled_from([1, 1, 1, -1, 2, -2]))
        made = made[(slice(None),) * axis + (slice(None, None, step),)]
    if draw(st.booleans()):
        made = np.asfortranarray(made)
    if draw(st.integers(0, 5)) == 0 and made.ndim == 2:
        made = np.broadcast_to(made[:1], made.shape) if len(made) else made
    if draw(st.integers(0, 5)) == 0 and made.dtype.kind in "fiu":
        made = np.ma.masked_array(made, mask=draw(st.booleans()))
    if isinstance(made, np.ndarray) and draw(st.booleans()):
        made.flags.writeable = False
    return made


labels = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c", "d", "\0", "é", "", " a"]), min_size=4, max_size=4),
    st.lists(st.one_of(st.integers(0, 4), st.sampled_from(["a", None, 1.5, ("a", 1)])), min_size=4, max_size=4),
    st.permutations(["a", "b", "c", "d"]),
)
kinds = st.sampled_from(
    [
        *("float64", "float32", "int8", "uint16", "bool", "Int64", "Float32", "boolean", "string", "category"),
        *("datetime64[ns]", "timedelta64[ns]", "complex128", "object", "Sparse[float64]", "int64[pyarrow]"),
    ]
)


@st.composite
def pandas_frames(draw: st.DrawFn) -> pd.DataFrame:
    """A data frame of any labels and dtypes, also with missing values and without rows."""
    rows = draw(st.sampled_from([0, 1, 2, 9]))
    columns = []
    for _ in range(4):
        kind = draw(kinds)
        values = pd.Series(np.arange(rows) % 5 + draw(st.integers(0, 3)))
        try:
            column = values.astype(kind)
        except (TypeError, ValueError):
            column = values
        if rows and draw(st.integers(0, 4)) == 0 and kind in ("Int64", "Float32", "boolean", "object", "float64"):
            column.iloc[0] = None
        columns.append(column)
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    names = draw(labels)
    frame.columns = pd.MultiIndex.from_tuples(names) if all(isinstance(n, tuple) for n in names) else pd.Index(names)
    return frame.iloc[:, : draw(st.sampled_from([4, 4, 4, 0, 3]))]


@st.composite
def polars_frames(draw: st.DrawFn) -> Any:
    """A data frame of polars or a table of Arrow, with missing values."""
    rows = draw(st.sampled_from([0, 1, 9]))
    dtypes = [
        pl.Float64,
        pl.Int8,
        pl.UInt64,
        pl.Boolean,
        pl.String,
        pl.Date,
        pl.List(pl.Int8),
        pl.Decimal(9, 2),
        pl.Null,
    ]
    columns = []
    for name in draw(st.permutations(["a", "b", "c", "d"])):
        dtype = draw(st.sampled_from(dtypes + [pl.Float64] * 9))
        series = pl.Series(name, [i % 3 for i in range(rows)])
        missing = rows and draw(st.integers(0, 4)) == 0
        try:
            series = series.cast(dtype)
        except pl.exceptions.PolarsError:
            series = pl.Series(name, [None] * rows, dtype=dtype)
        columns.append(pl.concat([series[:-1], pl.Series(name, [None], dtype=series.dtype)]) if missing else series)
    frame = pl.DataFrame(columns)
    shown = draw(st.sampled_from(["polars", "table", "batch", "lazy", "series"]))
    if shown in ("table", "batch"):
        table = frame.to_arrow()
        return table if shown == "table" else (table.combine_chunks().to_batches() or [table])[0]
    return {"polars": frame, "lazy": frame.lazy(), "series": columns[0]}[shown]


nested = st.recursive(objects, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


@settings(max_examples=120)
@given(arrays())
@example(np.lib.stride_tricks.as_strided(np.ones(1), (9, 4), (0, 0)))
@example(np.ones((2, 4))[:, :0])
@example(np.zeros(3, dtype=[("a", float), ("b", float)]))
@example(np.full((3, 4), 1.7e308))
@example(np.array([[10**400, 1, 2, 3]] * 3, dtype=object))
@example(np.array([[{}, 1, 2, 3]] * 3, dtype=object))
@example(np.empty((3, 2**40, 0)))
@example(np.empty((0, 2**40)))
def test_arrays(X: np.ndarray) -> None:
    check(X)


@settings(max_examples=80)
@given(pandas_frames())
@example(pd.DataFrame(GOOD, columns=["a", "a", "b", "b"]))
@example(pd.DataFrame(GOOD, columns=["a", 1, "b", 2]))
@example(pd.DataFrame(GOOD, columns=list("dcba")))
def test_pandas_frames(X: pd.DataFrame) -> None:
    check(X)


@settings(max_examples=60)
@given(polars_frames())
def test_polars_frames_and_arrow_tables(X: Any) -> None:
    check(X)


@settings(max_examples=80)
@given(nested)
@example([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0]])
@example([[1.0, 2.0, 3.0, 4.0], "abcd"])
@example([np.ones(4), np.ones(3)])
@example([pd.DataFrame(GOOD), pd.DataFrame(GOOD[:3])])
def test_nested_lists(X: Any) -> None:
    check(X)


@pytest.mark.parametrize(
    "X",
    [
        None,
        3,
        "absent.npy",
        "",
        "a\0b",
        ".",
        b"bytes",
        {},
        {"a": [1.0, 2.0]},
        {1.0, 2.0},
        range(5),
        iter([[1.0, 2.0]]),
        (row for row in GOOD),
        lambda: GOOD,
        PCA,
        object(),
        pathlib.Path("absent.csv"),
        io.StringIO("1,2\n3,4"),
        memoryview(b"abcd"),
        array.array("d", [1.0, 2.0]),
        np.matrix(GOOD),
        np.bool_(True),
        pd.Series([1.0, 2.0]),
        pd.Index([1.0, 2.0]),
        pl.Series([1.0, 2.0]),
        pa.array([1.0, 2.0]),
        pa.chunked_array([[1.0, 2.0]]),
        scipy.sparse.csr_array(GOOD),
        scipy.sparse.coo_matrix(GOOD),
        np.rec.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_other_objects(X: Any) -> None:
    check(X)


def test_frames_of_every_library_give_one_model() -> None:
    frame = pd.DataFrame(GOOD, columns=list("abcd"))
    expected = PCA(2).fit(frame)
    assert list(expected.feature_names_in_) == list("abcd")
    for same in (pl.from_pandas(frame), pa.Table.from_pandas(frame), pa.RecordBatch.from_pandas(frame)):
        model = PCA(2).fit(same)
        assert list(model.feature_names_in_) == list("abcd")
        assert model._model.to_bytes() == expected._model.to_bytes()
        np.testing.assert_array_equal(expected.transform(same), expected.transform(frame))
        other = same.select(list("dcba"))
        with pytest.raises(ValueError, match="feature names should match"):
            expected.transform(other)


def test_missing_values_of_frames_are_named_by_row_and_column() -> None:
    columns: dict[str, list[Any]] = {"a": [1, 2, 3], "b": [1, None, 3], "c": [True, False, None], "d": [1.0, 2.0, 3.0]}
    for frame in (pl.DataFrame(columns), pa.table(columns), pd.DataFrame(columns).convert_dtypes()):
        with pytest.raises(ValueError, match="NaN at row 1, column 1"):
            PCA(1).fit(frame)


def test_names_are_saved_with_the_model(tmp_path: pathlib.Path) -> None:
    frame = pd.DataFrame(GOOD, columns=["a", "b", "é", "d d"])
    for kind in (PCA, AngularEmbedding, steradian.EMPCA, steradian.GrassmannAverage):
        kind(2).fit(frame).save(tmp_path / "model")
        for model in (kind.load(tmp_path / "model"), steradian.load(tmp_path / "model")):
            assert list(model.feature_names_in_) == list(frame.columns)
            with pytest.raises(ValueError, match="feature names should match"):
                model.transform(frame[["b", "a", "é", "d d"]])
    PCA(2).fit(GOOD).save(tmp_path / "model")
    assert not hasattr(PCA.load(tmp_path / "model"), "feature_names_in_")


def test_a_table_with_columns_in_another_order_is_rejected(tmp_path: pathlib.Path) -> None:
    frame = pd.DataFrame(GOOD, columns=list("abcd"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame[list("dcba")].to_csv(tmp_path / "y.csv", index=False)
    model = PCA(2).fit(tmp_path / "x.csv")
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.transform(tmp_path / "x.csv"), model.transform(frame))
    for other in (tmp_path / "y.csv", frame[list("dcba")]):
        with pytest.raises(ValueError, match="must be in the same order"):
            model.transform(other)
    right = steradian.open(tmp_path / "y.csv", columns=list("abcd"))
    np.testing.assert_allclose(model.transform(right), model.transform(frame))
    np.save(tmp_path / "x.npy", GOOD)
    np.testing.assert_allclose(model.transform(tmp_path / "x.npy"), model.transform(frame))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: partial.mean(-1), "n_features = -1 is not supported; expected an integer >= 1"),
        (lambda: partial.mean("a"), "n_features = 'a' is not supported"),
        (lambda: MEAN.sum(GOOD, -1), "first_row = -1 is not supported; expected an integer >= 0"),
        (lambda: MEAN.sum(GOOD, 2**70), "first_row = 1180591620717411303424 is not supported"),
        (lambda: MEAN.sum(GOOD, 1.5), "first_row = 1.5 is not supported"),
        (lambda: MEAN.sum(GOOD, 0, n_samples=-3), "n_samples = -3 is not supported"),
        (lambda: MEAN.leaf_rows(-1), "n_samples = -1 is not supported"),
        (lambda: MEAN.finish(MEAN.sum(GOOD, 0), -1), "n_samples = -1 is not supported"),
        (lambda: MEAN.merge(3, 4), "result 0 is int; expected a PartialResult"),
        (lambda: MEAN.finish(b"", 3), "total is bytes; expected a PartialResult"),
        (lambda: partial.scatter("a"), "center = 'a' is not supported; expected a list of numbers"),
        (lambda: steradian.open("x.csv", columns="abc"), r"columns = 'abc' is one string; .*\['abc'\]"),
    ],
)
def test_arguments_of_passes_are_rejected_with_a_remedy(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()
