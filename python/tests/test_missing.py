"""Missing cells and bad cells: fits, scores, classification, imputation and the diagnosis of cells."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steradian
from steradian import PCA, AngularEmbedding, GrassmannAverage, OutlyingnessScreen
from steradian._cells import CellDiagnosis

METHODS = ["robust", "rows", "cells", "angular", "pca"]
"""Methods that use missing cells."""


def troubled(
    seed: int = 0, n: int = 120, features: int = 8, fraction: float = 0.03
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Samples near a plane with bad rows 0 to 9, bad cells and missing cells; masks of both; and the clean samples."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.standard_normal((features, 2)))[0].T
    clean = rng.standard_normal((n, 2)) * [6, 4] @ plane + 0.2 * rng.standard_normal((n, features)) + 5
    bad = rng.random((n, features)) < fraction
    missing = (rng.random((n, features)) < 0.1) & ~bad
    bad[:10] = False
    X = np.where(bad, clean + 15, clean)
    X[:10] += 30 * rng.standard_normal(features)
    X[missing] = np.nan
    return X, bad, missing, clean


def angle(components: np.ndarray, seed: int = 0) -> float:
    """The largest angle to the plane of `troubled`, in degrees."""
    plane = np.linalg.qr(np.random.default_rng(seed).standard_normal((components.shape[1], 2)))[0].T
    cosines = np.linalg.svd(components @ plane.T, compute_uv=False)
    return float(np.degrees(np.arccos(np.clip(cosines.min(), -1, 1))))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_missing_cells_are_used(method: str, dtype: str) -> None:
    X, _, missing, clean = troubled()
    X = np.where(missing, np.nan, clean).astype(dtype)
    model = AngularEmbedding(2, method=method).fit(X)
    assert angle(model.components_) < (5 if method == "angular" else 3)
    assert model.support_.sum() > 100
    scores = model.transform(X)
    assert scores.dtype == dtype
    assert np.isfinite(scores).all()
    completed, mask = model.impute(X, return_mask=True)
    np.testing.assert_array_equal(mask, missing)
    assert completed.dtype == dtype
    np.testing.assert_array_equal(completed[~missing], X[~missing])
    noise = np.sqrt(np.mean((completed[missing] - clean[missing]) ** 2))
    assert noise < 0.6, noise  # the noise is 0.2


def test_bad_rows_bad_cells_and_missing_cells_at_once() -> None:
    X, bad, missing, clean = troubled(features=20, fraction=0.05)
    model = AngularEmbedding(2)
    labels = model.fit_predict(X)
    assert angle(model.components_) < 4
    assert (labels[:10] == -1).all()
    assert (labels[10:] == -1).mean() < 0.15
    assert not model.support_[:10].any()
    completed, mask = model.impute(X, bad_cells=True, return_mask=True)
    usual = np.arange(len(X)) >= 10
    assert (mask & bad)[usual].sum() >= 0.9 * bad.sum()
    assert mask[missing].all()
    off = np.abs(completed - clean)[usual]
    assert np.quantile(off, 0.95) < 1


@pytest.mark.parametrize("missing", ["use", "error", "drop"])
@pytest.mark.parametrize("kind", [AngularEmbedding, PCA])
def test_treatments_of_missing_cells(kind: type, missing: str) -> None:
    X = troubled()[0]
    estimator = kind(2, missing=missing)
    assert estimator.__sklearn_tags__().input_tags.allow_nan == (missing != "error")
    complete = ~np.isnan(X).any(axis=1)
    if missing == "error":
        with pytest.raises(
            ValueError, match=r"NaN at row \d+, column \d+; remove or impute missing cells, or use missing="
        ):
            estimator.fit(X)
        with pytest.raises(ValueError, match="NaN"):
            estimator.fit(X[complete]).transform(X)
        return
    estimator.fit(X)
    assert estimator.support_.shape == (len(X),)
    if missing == "drop":
        assert not estimator.support_[~complete].any()
        np.testing.assert_array_equal(estimator.components_, kind(2).fit(X[complete]).components_)
    assert np.isfinite(estimator.transform(X)).all()


@pytest.mark.parametrize(
    "estimator",
    [
        AngularEmbedding.paper(2),
        AngularEmbedding(2, method="tae"),
        PCA(2),
        GrassmannAverage(2),
        OutlyingnessScreen(),
    ],
)
def test_methods_without_missing_cells(estimator: AngularEmbedding) -> None:
    X, _, _, clean = troubled()
    with pytest.raises(ValueError, match=r'NaN at row .*; remove or impute missing cells, or use missing="use"'):
        estimator.fit(X)
    assert not estimator.__sklearn_tags__().input_tags.allow_nan
    estimator.fit(clean)
    with pytest.raises(ValueError, match="NaN at row"):
        estimator.predict(X)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_are_errors(value: float) -> None:
    X, _, _, _ = troubled()
    model = AngularEmbedding(2).fit(X)
    X[17, 2] = value
    for use in (AngularEmbedding(2).fit, model.transform, model.diagnose, model.impute, model.predict):
        with pytest.raises(ValueError, match="inf at row 17, column 2; replace such cells"):
            use(X)


def sources(X: np.ndarray, folder: Path) -> dict[str, object]:
    """The same table in all kinds of data that have missing cells."""
    missing, names = np.isnan(X), [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_parquet(folder / "table.parquet")
    np.save(folder / "table.npy", X)
    polars = pl.DataFrame(
        {
            name: pl.Series([None if m else x for x, m in zip(X[:, j], missing[:, j], strict=True)])
            for j, name in enumerate(names)
        }
    )
    return {
        "Fortran order": np.asfortranarray(X),
        "masked": np.ma.masked_array(np.where(missing, 7.0, X), missing),
        "lists": [[None if np.isnan(x) else x for x in row] for row in X.tolist()],
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas arrow": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": polars,
        "arrow": polars.to_arrow(),
        "csv": folder / "table.csv",
        "parquet": folder / "table.parquet",
        "npy": folder / "table.npy",
        "open": steradian.open(folder / "table.csv"),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "Fortran order",
        "masked",
        "lists",
        "pandas",
        "pandas nullable",
        "pandas arrow",
        "polars",
        "arrow",
        "csv",
        "parquet",
        "npy",
        "open",
    ],
)
def test_missing_cells_of_all_sources(kind: str, tmp_path: Path) -> None:
    X = troubled()[0]
    data = sources(X, tmp_path)[kind]
    expected, found = AngularEmbedding(2).fit(X), AngularEmbedding(2).fit(data)
    assert found.components_.tobytes() == expected.components_.tobytes()
    np.testing.assert_array_equal(found.transform(data), expected.transform(X))
    np.testing.assert_array_equal(found.predict(data), expected.predict(X))


def test_masks() -> None:
    X, _, missing, clean = troubled()
    expected = AngularEmbedding(2).fit(X)
    for mask in (missing, np.asfortranarray(missing), missing.tolist(), pd.DataFrame(missing)):
        found = AngularEmbedding(2).fit(clean.copy(), missing_mask=missing & False | mask)
        assert found.n_features_in_ == 8
    full = np.where(np.isnan(X), 1e9, X)
    found = AngularEmbedding(2).fit(full, missing_mask=missing)
    assert found.components_.tobytes() == expected.components_.tobytes()
    scores = AngularEmbedding(2).fit_transform(full, missing_mask=missing)
    np.testing.assert_array_equal(scores, expected.transform(X))
    # A mask adds to the missing cells that the data have.
    half = missing.copy()
    half[::2] = False
    both = AngularEmbedding(2).fit(np.where(half, np.nan, full), missing_mask=missing & ~half)
    assert both.components_.tobytes() == expected.components_.tobytes()
    both = AngularEmbedding(2).fit(np.ma.masked_array(full, half), missing_mask=missing & ~half)
    assert both.components_.tobytes() == expected.components_.tobytes()


def test_masks_of_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    light = rng.uniform(0.5, 1.5, (60, 1, 1))
    images = (light * np.linspace(40, 150, 48).reshape(1, 6, 8) + rng.normal(0, 2, (60, 6, 8))).astype(np.uint8)
    mask = rng.random(images.shape) < 0.05
    covered = np.where(mask, 255, images).astype(np.uint8)
    np.save(tmp_path / "mask.npy", mask)
    np.save(tmp_path / "images.npy", covered)
    nan = np.where(mask, np.nan, covered).astype(np.float32)
    expected = AngularEmbedding(1, method="rows").fit(nan)
    for given_mask in (mask, tmp_path / "mask.npy"):
        found = AngularEmbedding(1, method="rows").fit(covered, missing_mask=given_mask)
        assert found.components_.tobytes() == expected.components_.tobytes()
    opened = steradian.open(tmp_path / "images.npy", missing_mask=mask)
    completed, changed = found.impute(opened, return_mask=True)
    np.testing.assert_array_equal(changed, mask)
    assert completed.shape == images.shape
    assert np.abs(completed[mask] - images[mask]).max() < 20
    np.testing.assert_array_equal(completed[~mask], images[~mask])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"missing_mask": np.zeros((3, 8), bool)},
            r"missing_mask has shape \(3, 8\) but the data have shape \(120, 8\)",
        ),
        ({"missing_mask": np.zeros((120, 8))}, r"missing_mask has dtype float64; expected booleans"),
        ({"exclude": np.zeros(7, bool)}, r"exclude has shape \(7,\) but the data have 120 rows"),
        ({"exclude": [3, 120]}, "exclude has the index 120 but the data have 120 rows"),
        ({"exclude": [-1]}, "exclude has the index -1"),
        ({"exclude": [0.5]}, r"exclude has shape \(1,\) and dtype float64"),
        ({"exclude": np.ones(120, bool)}, r"0 of 120 rows are left \(120 excluded, 0 dropped"),
    ],
)
def test_selections_that_are_rejected(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AngularEmbedding(2).fit(troubled()[0], **options)


@pytest.mark.parametrize("name", ["robust", "angular", "tae", "pca"])
def test_excluded_rows_are_absent(name: str) -> None:
    X, _, _, clean = troubled()
    clean[::7] += 100.0
    excluded = np.arange(len(X)) % 7 == 0
    estimator = AngularEmbedding(2, method=name)
    without = AngularEmbedding(2, method=name).fit(clean[~excluded])
    for exclude in (excluded, np.flatnonzero(excluded), np.flatnonzero(excluded)[::-1].tolist()):
        estimator.fit(clean, exclude=exclude)
        assert estimator.components_.tobytes() == without.components_.tobytes()
        assert estimator.support_.shape == (len(X),)
        assert not estimator.support_[excluded].any()
        np.testing.assert_array_equal(estimator.support_[~excluded], without.support_)
    if name == "tae":
        assert not excluded[estimator.pivot_]
        np.testing.assert_array_equal(estimator.cone_angles(clean)[~excluded], without.cone_angles(clean[~excluded]))
        assert np.isnan(estimator.cone_angles(clean)[excluded]).all()
    labels = estimator.fit_predict(clean, exclude=excluded)
    np.testing.assert_array_equal(labels[~excluded], without.fit_predict(clean[~excluded]))
    np.testing.assert_array_equal(labels[excluded], estimator.predict(clean[excluded]))


def test_excluded_rows_are_classified_as_new_rows() -> None:
    X = np.random.default_rng(8).standard_normal((100, 60))
    model = AngularEmbedding(2)
    labels = model.fit_predict(X, exclude=range(50))
    np.testing.assert_array_equal(labels[:50], model.predict(X[:50]))
    own = model.diagnose(X, training=True).is_regular
    np.testing.assert_array_equal(labels[50:] == 1, own[50:])
    assert own[:50].sum() < (labels[:50] == 1).sum()


def test_errors_count_the_rows_of_the_data() -> None:
    X = troubled()[3]
    X[50, 3] = np.inf
    with pytest.raises(ValueError, match="inf at row 50, column 3"):
        AngularEmbedding(2).fit(X, exclude=range(10))
    AngularEmbedding(2).fit(X, exclude=[50])


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(METHODS))
def test_scores_of_functions_agree(seed: int, new: bool, method: str) -> None:
    X = troubled(seed % 5)[0]
    rng = np.random.default_rng(seed)
    model = AngularEmbedding(2, method=method).fit(X)
    if new:
        X = np.where(
            rng.random((40, 8)) < 0.3, np.nan, 5 + rng.standard_normal((40, 8)) * rng.choice([1, 5, 50], 40)[:, None]
        )
    labels, decision, scores = model.predict(X), model.decision_function(X), model.score_samples(X)
    np.testing.assert_array_equal(decision >= 0, labels == 1)
    np.testing.assert_array_equal(scores - model.offset_, decision)
    assert np.isfinite(decision).all()


def test_cutoffs_of_own_and_new_rows() -> None:
    X = np.random.default_rng(4).standard_normal((50, 40))
    model = AngularEmbedding(2).fit(X)
    own, new = model.diagnose(X, training=True), model.diagnose(X)
    assert own.training
    assert not new.training
    assert own.score_cutoff <= new.score_cutoff
    assert own.orthogonal_cutoff < new.orthogonal_cutoff
    np.testing.assert_array_equal(own.orthogonal_distance, new.orthogonal_distance)
    np.testing.assert_array_equal(model.fit_predict(X) == 1, own.is_regular)
    np.testing.assert_array_equal(model.predict(X) == 1, new.is_regular)


def test_the_diagnosis_of_cells() -> None:
    X, bad, missing, clean = troubled()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    diagnosis = AngularEmbedding(2).fit(frame).diagnose(frame, training=True)
    cells = diagnosis.cells
    assert cells is diagnosis.cells
    assert isinstance(cells, CellDiagnosis)
    np.testing.assert_array_equal(cells.missing, missing)
    np.testing.assert_array_equal(np.isnan(cells.residual_sd), missing)
    assert cells.bad[10:][bad[10:]].mean() > 0.9
    assert cells.bad[10:][~bad[10:]].mean() < 0.06
    assert np.isfinite(cells.expected).all()
    assert (cells.residual_sd[10:][bad[10:] & cells.bad[10:]] > 0).all()
    some = diagnosis.cells_of([50, 3, 4])
    for name in ("expected", "residual_sd", "bad", "missing"):
        np.testing.assert_array_equal(getattr(some, name), getattr(cells, name)[[50, 3, 4]])
    np.testing.assert_array_equal(diagnosis.bad_cells([50, 3]), cells.bad[[50, 3]])
    table = some.to_pandas()
    assert list(table.columns) == ["sample", "feature", "value", "expected", "residual_sd", "flag"]
    assert len(table) == (some.bad | some.missing).sum()
    for row in table.itertuples():
        value = frame.loc[row.sample, row.feature]
        assert (row.flag == "missing") == np.isnan(value)
        np.testing.assert_equal(row.value, value)
    again = pickle.loads(pickle.dumps(cells))
    np.testing.assert_array_equal(again.bad, cells.bad)
    with pytest.raises(ValueError, match="does not contain the data"):
        again.to_pandas()
    with pytest.raises(ValueError, match='method="robust", "rows" or "cells", got method="pca"'):
        PCA(2).fit(clean).diagnose(clean).cells  # noqa: B018


def test_imputation_keeps_the_kind_of_the_data() -> None:
    X, _, missing, _ = troubled()
    X[:, 0], missing[:, 0] = np.arange(len(X)) % 5, False
    names = list("abcdefgh")
    model = AngularEmbedding(2, method="rows").fit(X)
    expected = model.impute(X)
    frame = pd.DataFrame(X, columns=names, index=range(500, 500 + len(X))).astype({"a": "int64", "b": "float32"})
    found = AngularEmbedding(2, method="rows").fit(frame).impute(frame)
    assert isinstance(found, pd.DataFrame)
    assert found.dtypes.to_dict() == frame.dtypes.to_dict()
    assert list(found.index) == list(frame.index)
    assert list(found.columns) == names
    assert not found.isna().any().any()
    pd.testing.assert_series_equal(found["a"], frame["a"])
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-4, atol=1e-4)
    polars = pl.from_pandas(frame)
    found = model.impute(polars) if not hasattr(model, "feature_names_in_") else None
    assert isinstance(found, pl.DataFrame)
    assert found.schema == polars.schema
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-4, atol=1e-4)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    found = model.impute(arrow)
    assert isinstance(found, pa.Table)
    assert found.schema.names == names
    assert found.column("a").equals(arrow.column("a"))
    for kind, module in (("pandas", pd), ("polars", pl)):
        found = AngularEmbedding(2, method="rows").set_output(transform=kind).fit(X).impute(X)
        assert isinstance(found, module.DataFrame)
        np.testing.assert_array_equal(found.to_numpy(), expected)
    assert isinstance(model.impute(np.ma.masked_invalid(X)), np.ndarray)


def test_rows_and_features_without_any_number() -> None:
    X = troubled()[0]
    X[20] = np.nan
    X[:, 5] = np.nan
    with pytest.warns(UserWarning, match=r"(feature|column).* 5"):
        model = AngularEmbedding(2).fit(X)
    assert np.abs(model.components_[:, 5]).max() < 1e-12
    assert model.predict(X)[20] == -1
    assert not model.support_[20]
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.impute(X)).all()
    with pytest.raises(ValueError, match="all 80 cells of the data are missing"):
        AngularEmbedding(2).fit(np.full((20, 4), np.nan))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"center": "mean"}, "center = 'mean' is not supported by method = 'robust'; leave it at None"),
        (
            {"method": "rows", "solver": "gram"},
            "solver = 'gram' is not supported by method = 'rows'; leave it at 'auto'",
        ),
        ({"method": "cells", "robust_scores": True}, "robust_scores = True is not supported by method = 'cells'"),
        ({"max_angle": 40}, "max_angle = 40 is not supported by method = 'robust'; leave it at 60.0"),
        ({"screen": "cone"}, "screen = 'cone' is not supported by method = 'robust'; use method='tae'"),
        ({"method": "angular", "cells": "always"}, "cells = 'always' is not supported by method = 'angular'"),
        ({"method": "ae", "skew": True}, "skew = True is not supported by method = 'ae'; leave it at False"),
        ({"skew": "yes"}, "skew = 'yes' is not supported"),
        ({"missing": "ignore"}, "missing = 'ignore' is not supported; expected 'use', 'drop', 'error'"),
    ],
)
def test_parameters_that_a_method_does_not_have(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AngularEmbedding(2, **parameters).fit(troubled()[3])


@pytest.mark.parametrize("missing", ["use", "error"])
def test_parameters_survive_a_model_file(missing: str, tmp_path: Path) -> None:
    clean = troubled()[3]
    for estimator in (AngularEmbedding(2, missing=missing, cells="always"), PCA(2, missing=missing)):
        estimator.fit(clean).save(tmp_path / "model.safetensors")
        again = type(estimator).load(tmp_path / "model.safetensors")
        assert again.missing == missing
        assert getattr(again, "cells", None) == getattr(estimator, "cells", None)
        assert (
            again.diagnose(clean, training=True).orthogonal_cutoff
            == estimator.diagnose(clean, training=True).orthogonal_cutoff
        )


def test_one_row_at_a_time() -> None:
    """A row has the result of a block of rows."""
    X = troubled()[0]
    model = AngularEmbedding(2).fit(X)
    completed, scores = model.impute(X, bad_cells=True), model.transform(X)
    for row in (0, 30, 119):
        np.testing.assert_array_equal(model.impute(X[row : row + 1], bad_cells=True)[0], completed[row])
        np.testing.assert_array_equal(model.transform(X[row : row + 1])[0], scores[row])
