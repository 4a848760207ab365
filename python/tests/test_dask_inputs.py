"""Dask collections of every kind, without a cluster: right, or rejected with a remedy, never silently wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

import steradian
from steradian import PCA, AngularEmbedding

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def _table(n: int = 240) -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 2)) @ (rng.standard_normal((2, 5)) * [[6], [3]]) + 0.1 * rng.standard_normal((n, 5))
    return X * [1, 2, 3, 4, 5] + [5, 4, 3, 2, 1]


X = _table()
FRAME = pd.DataFrame(X, columns=NAMES)
CUTS = [(0, 100), (100, 150), (150, 240)]


def _bytes(model: Any) -> bytes:
    return bytes(model._model.to_bytes())


def _arrays() -> Any:
    return da.from_array(X, chunks=((100, 50, 90), -1))


def test_a_data_frame_is_fitted_by_its_columns() -> None:
    parts = [dask.delayed(FRAME.iloc[a:b]) for a, b in CUTS]
    frame = dd.from_delayed(parts)
    model = PCA(2).fit(frame)
    assert list(model.feature_names_in_) == NAMES
    assert model._model.feature_names == NAMES
    expected = PCA(2).fit(_arrays())
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert _bytes(PCA(2).fit(parts)) == _bytes(model)
    scores = model.transform(frame)
    assert isinstance(scores, da.Array)
    assert (scores.ndim, scores.dtype, scores.numblocks) == (2, np.float64, (3, 1))
    np.testing.assert_allclose(scores.compute(), model.transform(FRAME), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(PCA(2).fit_transform(frame).compute(), scores.compute(), rtol=1e-12, atol=1e-12)
    single = model.transform(frame.astype("float32"))
    assert single.dtype == single.compute().dtype == np.float32


def test_a_data_frame_with_other_columns_is_rejected() -> None:
    frame = dd.from_pandas(FRAME, npartitions=3)
    model = PCA(2).fit(frame)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.transform(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match=r"now missing: 'e'.*feature_names_in_"):
        model.transform(frame[NAMES[:4]])
    with pytest.raises(ValueError, match="unseen at fit time: 'name'"):
        model.transform(frame.assign(name="x"))
    unnamed = PCA(2).fit(X)
    with pytest.raises(ValueError, match=r"fitted to features without names.*pass an array"):
        unnamed.transform(frame)
    with pytest.raises(ValueError, match="column 'name' is not numeric"):
        PCA(2).fit(frame.assign(name="x"))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_allclose(model.transform(_arrays()).compute(), model.transform(FRAME), rtol=1e-9)


def _permuted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["b", "a", "c", "d", "e"]]


@pytest.mark.parametrize(
    "other",
    [_permuted, lambda frame: pl.from_pandas(_permuted(frame)), lambda frame: frame.rename(columns={"a": "z"})],
    ids=["pandas", "polars", "renamed"],
)
def test_frames_with_other_columns_are_rejected(other: Callable[[pd.DataFrame], Any]) -> None:
    """Rows of permuted columns gave a sine of .47 to the subspace of the data."""
    parts = [dask.delayed(FRAME.iloc[:100]), dask.delayed(other)(FRAME.iloc[100:])]
    with pytest.raises(ValueError, match=r"partition 1 has the columns of partition 0 .*frame\[columns\]"):
        PCA(2).fit(parts)
    model = PCA(2).fit(FRAME)
    scores = model.transform(parts)
    np.testing.assert_array_equal(scores[0].compute(), model.transform(FRAME[:100]))
    with pytest.raises(ValueError, match=r"partition 1, .*feature names should match"):
        scores[1].compute()


def test_integer_labels_are_compared_too() -> None:
    frame = pd.DataFrame(X)
    with pytest.raises(ValueError, match=r"partition 0 has no column names but partition 1 has"):
        PCA(2).fit([dask.delayed(frame), dask.delayed(frame[[1, 0, 2, 3, 4]])])
    same = PCA(2).fit([dask.delayed(frame[:100]), dask.delayed(X[100:])])
    assert not hasattr(same, "feature_names_in_")


def test_frames_beside_arrays_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"partition 1 has no column names but partition 0 has; .*to_numpy\(\)"):
        PCA(2).fit([dask.delayed(FRAME), dask.delayed(X)])


def test_one_delayed_part_and_arrays_of_parts() -> None:
    one = PCA(2).fit(dask.delayed(X))
    assert _bytes(one) == _bytes(PCA(2).fit(X)) == _bytes(PCA(2).fit([dask.delayed(X)]))
    np.testing.assert_array_equal(one.transform(dask.delayed(X)).compute(), one.transform(X))
    grid = _arrays().to_delayed()
    assert isinstance(grid, np.ndarray)
    whole = PCA(2).fit(_arrays())
    assert _bytes(PCA(2).fit(grid)) == _bytes(whole)
    np.testing.assert_array_equal(np.concatenate(dask.compute(*whole.transform(grid))), whole.transform(X))


def test_a_list_of_arrays_is_their_rows() -> None:
    listed = [da.from_array(X[a:b], chunks=(60, -1)) for a, b in CUTS]
    model = PCA(2).fit(listed)
    assert _bytes(model) == _bytes(PCA(2).fit(da.concatenate(listed)))
    scores = model.transform(listed)
    assert [type(part) for part in scores] == [da.Array] * 3
    np.testing.assert_array_equal(np.concatenate(dask.compute(*scores)), model.transform(X))
    mixed = PCA(2).fit([listed[0], dask.delayed(X[100:150]), listed[2]])
    np.testing.assert_allclose(mixed.components_, model.components_, atol=1e-12)
    frames = [dd.from_pandas(FRAME.iloc[a:b], npartitions=1) for a, b in CUTS]
    assert list(PCA(2).fit(frames).feature_names_in_) == NAMES


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([dask.delayed(X), X], "part 1 of X is numpy.ndarray; .*dask.delayed"),
        (dask.bag.from_sequence([[1.0, 2.0]] * 9), "X is dask.Bag; expected a Dask array"),
        (dd.from_pandas(FRAME, npartitions=2)["a"], "X is dask.Series; expected a Dask array, .*to_dask_array"),
        ([_arrays(), dask.bag.from_sequence([1.0])], "part 1 of X is dask.Bag"),
    ],
)
def test_other_collections_are_rejected(data: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        PCA(2).fit(data)
    with pytest.raises(TypeError, match=words):
        PCA(2).fit(X).transform(data)


@pytest.mark.parametrize(
    ("data", "call"),
    [
        (_arrays(), "map_blocks"),
        (dd.from_pandas(FRAME, npartitions=2), "map_partitions"),
        ([dask.delayed(X)], r"dask.delayed\(model.predict\)\(part\)"),
    ],
)
def test_methods_for_one_machine_name_the_call_per_partition(data: Any, call: str) -> None:
    model = PCA(2).fit(X)
    for use in (model.predict, model.diagnose, model.inverse_transform, steradian.EMPCA(2).fit):
        with pytest.raises(TypeError, match=f"does not support Dask collections here; .*{call}"):
            use(data)


def test_the_documented_calls_per_partition_run_also_on_chunks_without_rows() -> None:
    model = PCA(2).fit(X)
    gaps = da.from_array(X, chunks=((100, 0, 140), -1))
    labels = gaps.map_blocks(model.predict, drop_axis=1, dtype=int)
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    filtered = _arrays()[_arrays()[:, 0] < X[:100, 0].min()]  # the first chunk has no rows
    np.testing.assert_array_equal(
        filtered.map_blocks(model.predict, drop_axis=1, dtype=int).compute(), model.predict(filtered.compute())
    )
    named = PCA(2).fit(FRAME)
    frame = dd.from_delayed([dask.delayed(FRAME), dask.delayed(FRAME[:0])])
    flags = frame.map_partitions(named.predict, meta=("flag", "int64"))
    np.testing.assert_array_equal(flags.compute(), named.predict(FRAME))
    parts = [dask.delayed(model.predict)(part) for part in (X[:0], X)]
    np.testing.assert_array_equal(np.concatenate(dask.compute(*parts)), model.predict(X))


@pytest.mark.parametrize("kind", [PCA, AngularEmbedding, steradian.EMPCA])
def test_no_samples_are_an_empty_result(kind: Any) -> None:
    model = kind(2).fit(X)
    for none in (X[:0], FRAME[:0], X[:0].astype(np.float32)):
        fitted = model if isinstance(none, np.ndarray) else kind(2).fit(FRAME)
        assert fitted.transform(none).shape == (0, 2)
        assert fitted.predict(none).shape == (0,)
        assert len(fitted.diagnose(none)) == 0
        assert fitted.inverse_transform(fitted.transform(none)).shape == (0, 5)


def test_a_value_that_is_not_finite_is_named_by_its_row_in_the_array() -> None:
    bad = X.copy()
    bad[123, 3] = np.nan
    model = PCA(2).fit(X)
    lazy = da.from_array(bad, chunks=((100, 50, 90), -1))
    for robust in (False, True):
        with pytest.raises(ValueError, match="NaN at row 123, column 3"):
            model.transform(lazy, robust_scores=robust).compute()
    unknown = lazy[da.from_array(np.ones(240, bool), chunks=((100, 50, 90),))]
    assert np.isnan(unknown.shape[0])
    with pytest.raises(ValueError, match=r"partition 1, rows counted within it: .*NaN at row 23, column 3"):
        model.transform(unknown).compute()
    parts = [dask.delayed(bad[a:b]) for a, b in CUTS]
    with pytest.raises(ValueError, match=r"partition 1, rows counted within it: .*NaN at row 23, column 3"):
        dask.compute(*model.transform(parts))


class _Changing:
    """A source whose values change after some reads."""

    def __init__(self, change: Callable[[np.ndarray], Any], after: int) -> None:
        self.reads = 0
        self._change = change
        self._after = after

    def __call__(self) -> Any:
        self.reads += 1
        part = X[100:].copy()
        return self._change(part) if self.reads > self._after else part


def _one_bit(part: np.ndarray) -> np.ndarray:
    part[77, 2] = np.nextafter(part[77, 2], np.inf)
    return part


CHANGES: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "one bit": (_one_bit, "changed to other values or another order"),
    "order": (lambda part: part[::-1], "changed to other values or another order"),
    "rows": (lambda part: part[:-1], "has 139 rows of 5 features .*expected 140 .*"),
    "dtype": (lambda part: part.astype(np.float32), r"has 140 .*\(float32\); expected .*\(float64\).*"),
    "names": (lambda part: pd.DataFrame(part, columns=NAMES), "changed to other columns"),
}


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("name", CHANGES)
def test_a_source_that_changes_between_passes_is_rejected(name: str, passes: int) -> None:
    change, words = CHANGES[name]
    source = _Changing(change, passes)
    last = da.from_delayed(dask.delayed(source, pure=False)(), (140, 5), np.float64)
    lazy = da.concatenate([da.from_array(X[:100], chunks=(100, -1)), last])
    model = PCA(2)
    with pytest.raises(ValueError, match=rf"partition 1, which begins at row 100, {words}; .*persist\(\)"):
        model.fit(lazy)
    assert source.reads == passes + 1
    assert not hasattr(model, "components_")


def test_a_file_that_changes_between_passes_is_rejected(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    other = X.copy()
    other[50] *= 2
    for name, write in (("x.npy", np.save), ("x.csv", lambda path, x: np.savetxt(path, x, delimiter=","))):
        path = tmp_path / name
        with pytest.raises(ValueError, match="partition 0, which begins at row 0, changed to other values"):
            PCA(2).fit(dask.delayed(str)(path), callback=lambda _, write=write, path=path: write(path, other))


def test_single_rows_are_checked_too() -> None:
    """The projection directions come from single rows, which are read between passes."""
    reads = []

    def source() -> np.ndarray:
        reads.append(1)
        return X if len(reads) < 2 else X[::-1]

    with pytest.raises(ValueError, match="changed to other values or another order"):
        AngularEmbedding(2).fit(da.from_delayed(dask.delayed(source, pure=False)(), X.shape, np.float64))
    assert len(reads) == 2


def test_errors_of_the_tasks_of_the_data_name_the_step(tmp_path: Path) -> None:
    def fail() -> np.ndarray:
        raise AttributeError("no such thing")

    with pytest.raises(RuntimeError, match=r"failed during reading the partition sizes: AttributeError: no such thing"):
        PCA(2).fit([dask.delayed(fail)()])
    lazy = da.from_delayed(dask.delayed(fail)(), (9, 4), np.float64)
    with pytest.raises(RuntimeError, match=r"failed during pass 1 \(check\): AttributeError"):
        PCA(2).fit(lazy)
    with pytest.raises(FileNotFoundError, match=r"partition 1: .*absent.npy.*paths that every worker can open"):
        PCA(2).fit([dask.delayed(X), dask.delayed(str)(tmp_path / "absent.npy")])


def test_checksums_depend_on_values_and_not_on_the_memory_layout() -> None:
    rng = np.random.default_rng(0)
    for dtype in ("uint8", "uint16", "float32", "float64"):
        table = rng.integers(0, 200, (300, 7)).astype(dtype)
        samples = steradian._engine.Samples
        expected = samples.from_array(table).checksum()
        wide = np.zeros((600, 14), dtype)
        wide[::2, ::2] = table
        for same in (np.asfortranarray(table), wide[::2, ::2], table[::-1].copy()[::-1]):
            assert samples.from_array(same).checksum() == expected
        seen = {expected, samples.from_array(table[::-1]).checksum(), samples.from_array(table[:, ::-1]).checksum()}
        for row, column in [(0, 0), (299, 6), (255, 3), (256, 3)]:
            other = table.copy()
            other[row, column] += 1
            seen.add(samples.from_array(other).checksum())
        seen.add(samples.from_array(table.reshape(7, 300)).checksum())
        swapped = table.copy()
        swapped[[3, 4]] = swapped[[4, 3]]
        seen.add(samples.from_array(swapped).checksum())
        assert len(seen) == 9
