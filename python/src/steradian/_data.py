"""Conversion of user data (arrays, data frames, paths) to samples that the engine reads block by block.

Only arrays of objects are copied as a whole, since each object has to be converted. Messages are scikit-learn's where
scikit-learn has one.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from steradian._engine import Samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SamplesLike: TypeAlias = Any
"""A numeric array, a data frame, a path, or a result of :func:`open`; they have no common type."""

__all__ = ["Samples", "SamplesLike", "cluster_kind", "open", "read"]

_PER_PARTITION = {
    "dask": ("Dask collections", "chunk: X.map_blocks(model.predict, drop_axis=1, dtype=int)"),
    "spark": (
        "Spark data frames",
        "partition: X.mapInPandas(lambda parts: (p.assign(flag=model.predict(p)) for p in parts), schema)",
    ),
}
"""By kind of cluster: the name of its data, and the call of a fitted model per partition."""


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_names: bool = False,
    missing: str = "error",
) -> Samples:
    """Open a file of any format that the command line reads, as data for any estimator of this package.

    Estimators also take a path; this function adds options for tables.

    Parameters
    ----------
    path : path-like
        A ``.npy`` array, which is memory-mapped, or a table, which is streamed.
    columns : sequence of str, optional
        The columns of a table to read, in this order: names, or indices from 0 without a header.
    row_names : bool, default=False
        True if the first column of a table contains row names.
    missing : {"error", "drop"}, default="error"
        Treatment of rows with a missing cell: raise an error, or drop them.

    Returns
    -------
    Samples
        With ``shape``, ``dtype``, ``feature_names`` and ``dropped_rows``.
    """
    if missing not in ("error", "drop"):
        msg = f"missing = {missing!r} is not supported; expected 'error' or 'drop'"
        raise ValueError(msg)
    names = None if columns is None else [str(column) for column in columns]
    return Samples.from_path(os.fspath(path), columns=names, row_names=row_names, drop_missing=missing == "drop")


def read(X: SamplesLike, *, reader: str, minimum: int = 1) -> Samples:
    """The samples of `X`, at least `minimum`; messages name the `reader`."""
    if isinstance(X, Samples):
        samples = X
    elif isinstance(X, (str, os.PathLike)):
        samples = Samples.from_path(os.fspath(X))
    elif (cluster := cluster_kind(X)) is not None:
        data, remedy = _PER_PARTITION[cluster]
        msg = f"{reader} does not support {data} here; apply a fitted model per {remedy}"
        raise TypeError(msg)
    elif _is_sparse(X):
        msg = (
            f"Sparse data was passed ({type(X).__name__} of shape {X.shape}), but dense data is required; "
            "use X.toarray() if it fits into memory"
        )
        raise TypeError(msg)
    elif _is_pandas(X):
        samples = _of_pandas(X)
    elif _is_polars(X):
        samples = _of_polars(X)
    else:
        samples = Samples.from_array(_numeric(X))
    _require_size(samples.shape, reader, minimum)
    return samples


def cluster_kind(X: SamplesLike) -> str | None:
    """The kind of cluster that holds `X`: "dask", "spark", or `None` for data of this process."""
    if _is_dask(X):
        return "dask"
    return "spark" if _is_spark(X) else None


def _is_dask(X: SamplesLike) -> bool:
    dask = sys.modules.get("dask.base")
    if dask is None:
        return False
    parts = list(X) if isinstance(X, (list, tuple)) else [X]
    return bool(parts) and all(dask.is_dask_collection(part) for part in parts)


def _is_spark(X: SamplesLike) -> bool:
    # Before Spark 4, data frames of Spark Connect had a separate class.
    modules = (sys.modules.get(name) for name in ("pyspark.sql.dataframe", "pyspark.sql.connect.dataframe"))
    return any(isinstance(X, module.DataFrame) for module in modules if module is not None)


def _is_sparse(X: SamplesLike) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def _is_pandas(X: SamplesLike) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def _is_polars(X: SamplesLike) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.DataFrame)


def _of_pandas(frame: Any) -> Samples:
    """Columns without a copy; a data frame of one block is one array."""
    if frame.shape[1] == 0:
        return Samples.from_array(np.empty(frame.shape))
    # `_mgr` is private: without it, the columns are used one by one.
    if getattr(getattr(frame, "_mgr", None), "nblocks", 0) == 1 and isinstance(frame.dtypes.iloc[0], np.dtype):
        array = frame.to_numpy(copy=False)
        if array.dtype.kind in "fiub":
            return Samples.from_array(array)
    return _of_columns((name, _pandas_column(name, column)) for name, column in frame.items())


def _pandas_column(name: object, column: Any) -> Any:
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy(copy=False)
    if hasattr(column, "sparse"):
        msg = f"Sparse data was passed (column {name!r}), but dense data is required; use X.sparse.to_dense()"
        raise TypeError(msg)
    if getattr(column.dtype, "kind", "O") not in "fiub":
        return np.empty(len(column), dtype=object)
    # Missing values of nullable and arrow types become NaN, which the engine rejects.
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _of_polars(frame: Any) -> Samples:
    if frame.shape[1] == 0:
        return Samples.from_array(np.empty(frame.shape))
    return _of_columns((column.name, column.to_numpy()) for column in frame.get_columns())


def _of_columns(columns: Iterable[tuple[object, Any]]) -> Samples:
    arrays = []
    for name, column in columns:
        if column.dtype.kind not in "fiub":
            msg = f"column {name!r} is not numeric; drop or encode it"
            raise ValueError(msg)
        arrays.append(column)
    return Samples.from_columns(arrays)


def _numeric(X: SamplesLike) -> Any:
    """A numeric array with two or three axes; `X` itself if it is one."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        msg = "X has masked values, which are not supported; fill them, for example with X.filled(value)"
        raise ValueError(msg)
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    kind = array.dtype.kind
    if kind == "c":
        msg = f"Complex data not supported\n{array.dtype} was passed; use the real and the imaginary part as features"
        raise ValueError(msg)
    if kind in "USMmV" or array.dtype == np.longdouble:
        msg = f"dtype {array.dtype} is not supported; convert the data to numeric values of at most 64 bits"
        raise ValueError(msg)
    if kind == "O":
        array = array.astype(np.float64)
    if array.ndim not in (2, 3):
        named = "scalar" if array.ndim == 0 else f"{array.ndim}D"
        msg = (
            f"Expected 2D array, got {named} array instead (shape {array.shape}).\n"
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample; images may be (samples, height, width)."
        )
        raise ValueError(msg)
    return array


def _require_size(shape: tuple[int, int], reader: str, minimum: int) -> None:
    (samples, features), required = shape, f"is required by {reader}."
    if samples < minimum:
        msg = f"Found array with {samples} sample(s) (shape={shape}) while a minimum of {minimum} {required}"
        raise ValueError(msg)
    if features < 1:
        msg = f"Found array with {features} feature(s) (shape={shape}) while a minimum of 1 {required}"
        raise ValueError(msg)
