"""What users hand over as data, as something that the engine reads block by block.

Nothing here copies a table as a whole, but for arrays of objects, which have to be asked for their numbers one by one.
Messages follow scikit-learn's, so that what users and their tests expect is what they meet.
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
"""An array of numbers, a data frame, a path, or what :func:`open` returned: they have no common type."""

__all__ = ["Samples", "SamplesLike", "home", "open", "read"]

_ON_PARTS = {
    "dask": ("a Dask collection", "X.map_blocks(model.predict, drop_axis=1, dtype=int)"),
    "spark": (
        "a Spark frame",
        "X.mapInPandas(lambda parts: (p.assign(verdict=model.predict(p)) for p in parts), schema)",
    ),
}
"""How data of each cluster are called, and how a fitted model is called on each part of them."""


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_names: bool = False,
    missing: str = "error",
) -> Samples:
    """Open a file that the command line would take, as data for any estimator of this package.

    A path can be given to an estimator directly; this is for tables that need to be told apart.

    Parameters
    ----------
    path : path-like
        A ``.npy`` array, which is mapped, or a table, which is streamed.
    columns : sequence of str, optional
        The columns of a table to read, in this order: names, or indices from 0 where there is no header.
    row_names : bool, default=False
        Whether the first column of a table holds names.
    missing : {"error", "drop"}, default="error"
        What to do with rows that have an empty cell.

    Returns
    -------
    Samples
        With ``shape``, ``element``, ``feature_names`` and ``dropped_rows``.
    """
    if missing not in ("error", "drop"):
        msg = f'missing = {missing!r} is not known; use "error" or "drop"'
        raise ValueError(msg)
    names = None if columns is None else [str(column) for column in columns]
    return Samples.from_path(os.fspath(path), columns=names, row_names=row_names, drop_missing=missing == "drop")


def read(X: SamplesLike, *, reader: str, minimum: int = 1) -> Samples:
    """Samples of `X`, which `reader` (a name for messages) needs at least `minimum` of."""
    if isinstance(X, Samples):
        samples = X
    elif isinstance(X, (str, os.PathLike)):
        samples = Samples.from_path(os.fspath(X))
    elif (cluster := home(X)) is not None:
        what, remedy = _ON_PARTS[cluster]
        msg = f"{reader} reads data in memory, and {what} lies elsewhere; call a fitted model on each part, as {remedy}"
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
        samples = Samples.from_array(_numbers(X))
    _require_size(samples.shape, reader, minimum)
    return samples


def home(X: SamplesLike) -> str | None:
    """The kind of cluster whose tasks make the rows of `X`: "dask", "spark", or `None` for data of this process."""
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
    # Before Spark 4 frames of Spark Connect were a class of their own.
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
    """Columns where they lie; a frame of one type that lies in one piece is one array."""
    if frame.shape[1] == 0:
        return Samples.from_array(np.empty(frame.shape))
    # One block of one type is one array; where pandas does not tell, columns are as good.
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
    # Nullable and arrow types keep their gaps apart; filled with NaN they are refused where the data are read.
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _of_polars(frame: Any) -> Samples:
    if frame.shape[1] == 0:
        return Samples.from_array(np.empty(frame.shape))
    return _of_columns((column.name, column.to_numpy()) for column in frame.get_columns())


def _of_columns(columns: Iterable[tuple[object, Any]]) -> Samples:
    arrays = []
    for name, column in columns:
        if column.dtype.kind not in "fiub":
            msg = f"column {name!r} does not hold numbers; leave it out, or encode it as numbers first"
            raise ValueError(msg)
        arrays.append(column)
    return Samples.from_columns(arrays)


def _numbers(X: SamplesLike) -> Any:
    """An array of numbers of two or three axes; the same one where it is that already."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        msg = "X has masked values, which are not read; fill them first, for example by X.filled(value)"
        raise ValueError(msg)
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    kind = array.dtype.kind
    if kind == "c":
        msg = f"Complex data not supported\n{array.dtype} was passed; use the real and the imaginary part as features"
        raise ValueError(msg)
    if kind in "USMmV" or array.dtype == np.longdouble:
        msg = (
            f"dtype {array.dtype} was passed, which is not read; convert the data to numeric values of at most 64 bits"
        )
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
    (samples, features), wanted = shape, f"is required by {reader}."
    if samples < minimum:
        msg = f"Found array with {samples} sample(s) (shape={shape}) while a minimum of {minimum} {wanted}"
        raise ValueError(msg)
    if features < 1:
        msg = f"Found array with {features} feature(s) (shape={shape}) while a minimum of 1 {wanted}"
        raise ValueError(msg)
