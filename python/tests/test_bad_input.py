"""Errors of data and parameters: messages with numbers and a remedy."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from steradian import PCA, AngularEmbedding

GOOD = np.random.default_rng(0).standard_normal((30, 4))


def with_cell(value: float, dtype: str = "float64") -> np.ndarray:
    X = GOOD.astype(dtype)
    X[17, 2] = value
    return X


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_cells_that_are_not_finite(value: float, word: str, dtype: str) -> None:
    model = AngularEmbedding(2, method="ae")
    with pytest.raises(ValueError, match=f"{word} at row 17, column 2"):
        model.fit(with_cell(value, dtype))
    model.fit(GOOD)
    for use in (model.transform, model.predict, model.diagnose, lambda X: model.transform(X, robust_scores=True)):
        with pytest.raises(ValueError, match=f"{word} at row 17, column 2"):
            use(with_cell(value, dtype))


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (GOOD + 1j, ValueError, "Complex data not supported"),
        (np.full((5, 2), "a"), ValueError, "dtype <U1 is not supported"),
        ([["a", "b"], ["c", "d"]], ValueError, "dtype <U1 is not supported"),
        (np.full((5, 2), "a", dtype=object), ValueError, "could not convert string to float"),
        (np.zeros((5, 2), dtype="M8[s]"), ValueError, r"datetime64\[s\] is not supported"),
        (GOOD.astype(np.longdouble), ValueError, "float128 is not supported"),
        (np.zeros(3, dtype=[("a", float), ("b", float)]), ValueError, "is not supported; convert"),
        (np.empty((0, 3)), ValueError, r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.empty((5, 0)), ValueError, r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required"),
        (GOOD[:1], ValueError, r"1 sample\(s\) \(shape=\(1, 4\)\) while a minimum of 2 is required"),
        (GOOD[0], ValueError, r"Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (np.float64(3), ValueError, "Expected 2D array, got scalar array"),
        (np.zeros((2, 2, 2, 2)), ValueError, "Expected 2D array, got 4D array"),
        (np.ones((9, 4)), ValueError, "all 9 rows are equal"),
        (np.ma.masked_greater(GOOD, 1), ValueError, "NaN at row"),
        (pd.DataFrame({"a": [1.0, 2], "b": ["x", "y"]}), ValueError, "column 'b' is not numeric; drop or encode it"),
        (pl.DataFrame({"a": [1.0, 2], "b": ["x", "y"]}), ValueError, "column 'b' is not numeric; drop or encode it"),
        (pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1])}), TypeError, "Sparse data was passed"),
        ("absent.npy", FileNotFoundError, "absent.npy"),
    ],
)
def test_data_that_are_rejected(X: object, error: type[Exception], words: str) -> None:
    for estimator in (AngularEmbedding.paper(1), PCA(1)):
        with pytest.raises(error, match=words):
            estimator.fit(X)
        with pytest.raises(NotFittedError):
            estimator.transform(GOOD)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (AngularEmbedding.paper(1), r"Sparse data was passed \((csr_array|coo_matrix) of shape \(30, 4\)\).*toarray"),
        (PCA(1, svd_solver="full"), '"arpack" and "covariance_eigh" solvers, while "full" was passed; use .*toarray'),
        (PCA(1, missing="use"), "missing is not supported for sparse data.*toarray"),
        (PCA("auto"), "n_components='auto' is not supported for sparse data; pass a number"),
    ],
)
def test_sparse_data_that_are_rejected(estimator: Any, words: str) -> None:
    for X in (scipy.sparse.csr_array(GOOD), scipy.sparse.coo_matrix(GOOD)):
        with pytest.raises(TypeError, match=words):
            estimator.fit(X)
        with pytest.raises(NotFittedError):
            estimator.transform(GOOD)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 50}, r"n_components = 50 exceeds min\(n_samples, n_features\) = 4; use at most 4"),
        ({"n_components": 0}, "n_components = 0; use at least 1"),
        (
            {"n_components": 1.5},
            r"n_components = 1.5 is not supported; expected an integer >= 1, a fraction in \(0, 1\), or 'auto'",
        ),
        ({"n_components": True}, "n_components = True is not supported"),
        ({"n_components": "all"}, "n_components = 'all' is not supported"),
        (
            {"method": "ppca"},
            "method = 'ppca' is not supported; expected 'robust', 'rows', 'cells', 'angular', 'ae', 'tae', 'pca'",
        ),
        (
            {"center": "middle"},
            "center = 'middle' is not supported; expected 'mean', 'median', 'spatial_median', 'none'",
        ),
        ({"method": "ae", "center": [1.0, 2.0]}, "center has 2 values but the data have 4 features"),
        ({"center": np.eye(4)}, r"center has shape \(4, 4\)"),
        ({"screen": "box"}, "screen = 'box' is not supported; expected None, 'none', 'cone', 'outlyingness'"),
        ({"cells": "drop"}, "cells = 'drop' is not supported; expected None, 'auto', 'always', 'never'"),
        ({"scaling": "std"}, "scaling = 'std' is not supported; expected 'none', 'mad'"),
        ({"cosine": "sign"}, "cosine = 'sign' is not supported; expected 'abs', 'signed'"),
        ({"ties": "first"}, "ties = 'first' is not supported; expected 'index', 'density'"),
        ({"solver": "arpack"}, "solver = 'arpack' is not supported; expected 'auto', 'scatter', 'gram', 'krylov'"),
        (
            {"method": "tae", "max_angle": 120},
            "max_angle = 120 degrees; expected an angle above 0 and at most 90 degrees",
        ),
        ({"screen": "cone", "max_angle": "wide"}, "max_angle = 'wide' is not supported; expected 'auto'"),
        ({"n_directions": 0}, "n_directions = 0 is not supported; expected an integer >= 1"),
        ({"tol": 0}, "tol = 0; expected a number between 0 and 1"),
        ({"tol": "tight"}, "tol = 'tight' is not supported; expected a real number"),
        ({"random_state": -1}, "random_state = -1; expected an integer >= 0"),
        ({"random_state": 2**70}, "random_state = 1180591620717411303424; expected an integer >= 0 and at most"),
        ({"n_components": 2**70}, "n_components = 1180591620717411303424 is not supported"),
        ({"n_components": 10**400}, "n_components = 1000.* is not supported"),
        ({"n_directions": 2**70}, "n_directions = 1180591620717411303424 is not supported; .* and at most"),
        ({"tol": 10**400}, "tol = 1000.* is not supported; expected a real number"),
        ({"center": ["a"]}, r"center = \['a'\] is not supported; expected a name, or an array"),
        ({"center": {}}, r"center = \{\} is not supported"),
        ({"n_jobs": 0}, "n_jobs = 0 is not supported"),
        ({"memory_limit": "much"}, "memory_limit = 'much' is not supported; expected bytes"),
        ({"memory_limit": 10}, r"needs about .* but may use 10 bytes; increase memory_limit"),
        ({"robust_scores": "yes"}, "robust_scores = 'yes' is not supported; expected True, False or None"),
    ],
)
def test_parameters_that_are_rejected(parameters: dict, words: str) -> None:
    estimator = AngularEmbedding(2).set_params(**parameters)
    with pytest.raises(ValueError, match=words):
        estimator.fit(GOOD)
    assert not [name for name in vars(estimator) if name.endswith("_")]


def test_another_width_in_scikit_learns_words() -> None:
    model = AngularEmbedding(2).fit(GOOD)
    for use in (model.transform, model.predict, model.diagnose):
        with pytest.raises(ValueError, match="X has 3 features, but AngularEmbedding is expecting 4 features as input"):
            use(GOOD[:, :3])
    with pytest.raises(ValueError, match="expected 2 scores per row, got 3"):
        model.inverse_transform(GOOD[:, :3])


def test_another_frame_in_scikit_learns_words() -> None:
    frame = pd.DataFrame(GOOD, columns=list("abcd"))
    model = AngularEmbedding(2).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[list("dcba")])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.transform(GOOD)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"method": "ae", "max_angle": 30.0}, "max_angle = 30.0 requires a cone, which method = 'ae' does not have"),
        ({"method": "angular", "cosine": "signed"}, "cosine = 'signed' requires a cone, which method = 'angular'"),
        ({"method": "robust", "ties": "density"}, "ties = 'density' is not supported by method = 'robust'"),
        ({"method": "pca", "recenter": True}, "recenter = True requires a cone, which method = 'pca'"),
        ({"method": "cells", "exact": True}, "exact = True is not supported by method = 'cells'"),
        (
            {"method": "tae", "screen": "none", "exact": True},
            "exact = True requires a cone, which method = 'tae' with screen = 'none' does not have; use method='tae'",
        ),
        (
            {"method": "ae", "n_directions": 20},
            "n_directions = 20 requires the outlyingness screen, which method = 'ae' does not have; use method",
        ),
        ({"method": "tae", "n_directions": 20}, "n_directions = 20 requires the outlyingness screen"),
        ({"method": "tae", "cells": "always"}, "cells = 'always' is not supported by method = 'tae'"),
        ({"method": "pca", "screen": "cone"}, "screen = 'cone' is not supported by method = 'pca'"),
        ({"method": "pca", "cells": "always"}, "cells = 'always' is not supported by method = 'pca'"),
    ],
)
def test_parameters_that_a_method_does_not_have_are_rejected(parameters: dict, words: str) -> None:
    estimator = AngularEmbedding(2, **parameters)
    with pytest.raises(ValueError, match=re.escape(words)):
        estimator.fit(GOOD)
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize("use", ["transform", "inverse_transform", "predict", "diagnose", "explained_variance_ratio_"])
def test_unfitted_use(use: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(AngularEmbedding(2), use)(GOOD)


def test_a_failed_fit_leaves_nothing_of_an_earlier_one() -> None:
    estimator = AngularEmbedding(2).fit(GOOD)
    with pytest.raises(ValueError, match="inf"):
        estimator.fit(with_cell(np.inf))
    assert not [name for name in vars(estimator) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        estimator.transform(GOOD)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_data_that_change_under_a_fit_are_read_as_found() -> None:
    """No crash and no deadlock: the documentation promises no more than values that were present."""
    X = np.random.default_rng(1).standard_normal((4000, 50)).astype(np.float32) * np.linspace(
        9, 1, 50, dtype=np.float32
    )
    done = threading.Event()

    def overwrite() -> None:
        rng = np.random.default_rng(2)
        while not done.is_set():
            X[rng.integers(4000)] = rng.standard_normal(50) * np.linspace(9, 1, 50)

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        model = AngularEmbedding(3, n_directions=20, tol=1e-2).fit(X)
    except ValueError:
        return
    finally:
        done.set()
        writer.join()
    assert np.isfinite(model.components_).all()
