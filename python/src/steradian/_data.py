"""Conversion of user data (arrays, data frames, paths) to samples that the engine reads block by block.

Only arrays of objects are copied as a whole, since each object has to be converted. Messages are scikit-learn's where
scikit-learn has one.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.utils.validation import _get_feature_names

from steradian._engine import Samples
from steradian._selection import MISSING, with_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

SamplesLike: TypeAlias = Any
"""A numeric array, a data frame, a path, or a result of :func:`open`; they have no common type."""

__all__ = [
    "Samples",
    "SamplesLike",
    "cluster_kind",
    "column_labels",
    "is_dask_part",
    "is_frame",
    "open",
    "parts_of",
    "read",
]

_SPARK_CALL = "X.mapInPandas(lambda parts: (p.assign(flag=model.predict(p)) for p in parts), schema)"


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_names: bool = False,
    missing: str = "use",
    missing_mask: Any = None,
    header: str = "auto",
    max_decoded: int | None = None,
) -> Samples:
    """Open a file of any format that the command line reads, as data for any estimator of this package.

    Estimators also take a path; this function adds options for tables and clips.

    Parameters
    ----------
    path : path-like
        A ``.npy`` array, which is memory-mapped; a table, which is streamed; or a folder of images, a GIF or a video,
        which is decoded to a temporary file.
    columns : sequence of str, optional
        The columns of a table to read, in this order: names, or indices from 0 without a header.
    row_names : bool, default=False
        True if the first column of a table contains row names.
    missing : {"use", "drop", "error"}, default="use"
        Treatment of missing cells of a table: read them as NaN, drop their rows, or raise an error. Estimators whose
        method cannot use missing cells reject NaN.
    missing_mask : array of bool, or path of a .npy file, optional
        True for missing cells, with the shape of the data; for example for images, which have no NaN.
    header : {"auto", "yes", "no"}, default="auto"
        Treatment of the first row of a text table: names of the columns, or a sample. ``"auto"`` takes it for names
        if one of its cells is text; a header of numbers, such as wavelengths, needs ``"yes"``.
    max_decoded : int, optional
        Largest total size of the decoded frames of a clip in bytes; 16 GiB by default.

    Returns
    -------
    Samples
        With ``shape``, ``dtype``, ``feature_names`` and ``dropped_rows``.
    """
    if missing not in MISSING:
        msg = f"missing = {missing!r} is not supported; expected {', '.join(map(repr, MISSING))}"
        raise ValueError(msg)
    if header not in ("auto", "yes", "no"):
        msg = f"header = {header!r} is not supported; expected 'auto', 'yes' or 'no'"
        raise ValueError(msg)
    if isinstance(columns, str):
        msg = f"columns = {columns!r} is one string; expected a sequence of names, for example [{columns!r}]"
        raise ValueError(msg)
    samples = Samples.from_path(
        os.fspath(path),
        columns=None if columns is None else [str(column) for column in columns],
        row_names=row_names,
        missing=missing,
        header=None if header == "auto" else header == "yes",
        max_decoded=max_decoded,
    )
    return with_missing(samples, missing_mask)


def read(X: SamplesLike, *, reader: str, minimum: int = 1, missing: str = "use", missing_mask: Any = None) -> Samples:
    """The samples of `X`, at least `minimum`; messages name the `reader`.

    `missing` is the treatment of missing cells of a table that is given by its path, see :func:`open`; those of all
    other data are NaN.
    """
    masked: npt.NDArray[np.bool_] | None = None
    if isinstance(X, Samples):
        samples = X
    elif isinstance(X, (str, os.PathLike)):
        if not os.fspath(X):
            msg = "the path is empty; pass the path of a file, or data"
            raise ValueError(msg)
        samples = Samples.from_path(os.fspath(X), missing=missing)
    elif (cluster := cluster_kind(X)) is not None:
        data, call = ("Dask collections", _dask_call(X)) if cluster == "dask" else ("Spark data frames", _SPARK_CALL)
        msg = f"{reader} does not support {data} here; apply a fitted model per partition, for example {call}"
        raise TypeError(msg)
    elif _is_sparse(X):
        msg = (
            f"Sparse data was passed ({type(X).__name__} of shape {X.shape}), but dense data is required; "
            "use X.toarray() if it fits into memory"
        )
        raise TypeError(msg)
    elif is_frame(X):
        samples = _of_frame(X)
    else:
        if isinstance(X, np.ma.MaskedArray):
            masked = np.ma.getmaskarray(X) if np.ma.is_masked(X) else None
            X = np.ma.getdata(X)
        samples = Samples.from_array(_numeric(X))
    _require_size(samples.shape, reader, minimum)
    return with_missing(samples, missing_mask, masked)


def cluster_kind(X: SamplesLike) -> str | None:
    """The kind of cluster that holds `X`: "dask", "spark", or `None` for data of this process."""
    if _is_dask(X):
        return "dask"
    return "spark" if _is_spark(X) else None


def parts_of(X: SamplesLike) -> list[SamplesLike]:
    """The items of a list, a tuple or an array of objects, such as `X.to_delayed()` of Dask; else `X` alone."""
    if isinstance(X, np.ndarray):
        return list(X.ravel()) if X.dtype.kind == "O" else [X]
    return list(X) if isinstance(X, (list, tuple)) else [X]


def is_dask_part(part: SamplesLike) -> bool:
    """True for a collection or a future of Dask."""
    dask, distributed = sys.modules.get("dask.base"), sys.modules.get("distributed.client")
    if distributed is not None and isinstance(part, distributed.Future):
        return True
    return dask is not None and bool(dask.is_dask_collection(part))


def _is_dask(X: SamplesLike) -> bool:
    return "dask.base" in sys.modules and any(map(is_dask_part, parts_of(X)))


def _dask_call(X: SamplesLike) -> str:
    """The call that applies a model to each partition of a Dask collection."""
    if hasattr(X, "map_blocks"):
        return "X.map_blocks(model.predict, drop_axis=1, dtype=int)"
    if hasattr(X, "map_partitions"):
        return 'X.map_partitions(model.predict, meta=("flag", "int64"))'
    return "[dask.delayed(model.predict)(part) for part in X]"


def _is_spark(X: SamplesLike) -> bool:
    # Before Spark 4, data frames of Spark Connect had a separate class.
    modules = (sys.modules.get(name) for name in ("pyspark.sql.dataframe", "pyspark.sql.connect.dataframe"))
    return any(isinstance(X, module.DataFrame) for module in modules if module is not None)


def _is_sparse(X: SamplesLike) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_frame(X: SamplesLike) -> bool:
    """True for a data frame of pandas or polars and a table of Arrow."""
    classes = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch"))
    return any(_is_a(X, module, name) for module, name in classes)


def column_labels(X: SamplesLike) -> list[Any] | None:
    """The labels of the columns of a data frame; `None` for 0, 1, 2, .., which are positions, and for other data."""
    if not is_frame(X):
        return None
    labels = list(X.columns if hasattr(X, "dtypes") else X.schema.names)  # the columns of Arrow are values
    return None if labels == list(range(len(labels))) else labels


def _is_a(X: SamplesLike, module: str, name: str) -> bool:
    """True for an instance of a class of a package that need not be installed."""
    found = getattr(sys.modules.get(module), name, None)
    return found is not None and isinstance(X, found)


def _of_frame(frame: Any) -> Samples:
    _require_unique(list(frame.columns if hasattr(frame, "dtypes") else frame.schema.names))
    names = _get_feature_names(frame) if _is_a(frame, "pandas", "DataFrame") else column_labels(frame)
    listed = None if names is None else [str(name) for name in names]
    if frame.shape[1] == 0:
        return Samples.from_array(np.empty(frame.shape))
    # `_mgr` is private: without it, the columns are used one by one.
    one_block = getattr(getattr(frame, "_mgr", None), "nblocks", 0) == 1
    if one_block and isinstance(frame.dtypes.iloc[0], np.dtype):
        array = frame.to_numpy(copy=False)
        if array.dtype.kind in "fiub":
            return Samples.from_array(array, names=listed)
    return Samples.from_columns(_require_numeric(_columns(frame)), names=listed)


def _require_unique(labels: list[Any]) -> None:
    """Reject a label that occurs twice, as scikit-learn does: later data could not be matched by names."""
    if len(set(labels)) < len(labels):
        repeated = next(label for label in labels if labels.count(label) > 1)
        msg = f"{labels.count(repeated)} columns of X have the name {repeated!r}; rename or drop all but one"
        raise ValueError(msg)


def _columns(frame: Any) -> Iterable[tuple[object, Any]]:
    """Name and values of each column, without a copy where the values allow it."""
    if _is_a(frame, "pandas", "DataFrame"):
        return ((name, _pandas_column(name, column)) for name, column in frame.items())
    if _is_a(frame, "polars", "DataFrame"):
        return ((column.name, _polars_column(column)) for column in frame.get_columns())
    return ((name, _arrow_column(frame.column(i))) for i, name in enumerate(frame.schema.names))


def _pandas_column(name: object, column: Any) -> Any:
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy(copy=False)
    if hasattr(column, "sparse"):
        msg = f"Sparse data was passed (column {name!r}), but dense data is required; use X.sparse.to_dense()"
        raise TypeError(msg)
    if getattr(column.dtype, "kind", "O") not in "fiub":
        return np.empty(len(column), dtype=object)
    # Missing values of nullable and arrow types become NaN.
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _polars_column(column: Any) -> Any:
    polars = sys.modules["polars"]
    plain = column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count()
    if not plain and (column.dtype.is_numeric() or column.dtype == polars.Boolean):
        column = column.cast(polars.Float64)  # missing values become NaN
    return column.to_numpy()


def _arrow_column(column: Any) -> Any:
    types = sys.modules["pyarrow"].types
    if types.is_boolean(column.type) or types.is_decimal(column.type):
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False) if hasattr(column, "offset") else column.to_numpy()


def _require_numeric(columns: Iterable[tuple[object, Any]]) -> list[Any]:
    arrays = []
    for name, column in columns:
        if column.dtype.kind not in "fiub" or column.dtype == np.longdouble:
            msg = f"column {name!r} is not numeric; drop or encode it"
            raise ValueError(msg)
        arrays.append(column)
    return arrays


def _numeric(X: SamplesLike) -> Any:
    """A numeric array with two or three axes; `X` itself if it is one."""
    array = X if isinstance(X, np.ndarray) else _array(X)
    kind = array.dtype.kind
    if kind == "c":
        msg = f"Complex data not supported\n{array.dtype} was passed; use the real and the imaginary part as features"
        raise ValueError(msg)
    if kind in "USMmV" or array.dtype == np.longdouble:
        msg = f"dtype {array.dtype} is not supported; convert the data to numeric values of at most 64 bits"
        raise ValueError(msg)
    if kind == "O":
        array = _of_objects(array)
    if array.ndim not in (2, 3):
        named = "scalar" if array.ndim == 0 else f"{array.ndim}D"
        msg = (
            f"Expected 2D array, got {named} array instead (shape {array.shape}).\n"
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample; images may be (samples, height, width)."
        )
        raise ValueError(msg)
    return array


def _array(X: SamplesLike) -> Any:
    """The array of any other object."""
    if _is_a(X, "polars", "LazyFrame"):
        msg = "a lazy frame of polars was passed, but rows are required; use X.collect()"
        raise TypeError(msg)
    if isinstance(X, (dict, set, frozenset)) or (hasattr(X, "__next__") and not hasattr(X, "__array__")):
        msg = f"{type(X).__name__} was passed, which has no rows and columns; pass an array, a data frame or a path"
        raise TypeError(msg)
    try:
        return np.asarray(X)
    except (ValueError, TypeError) as error:
        msg = f"X cannot be converted to an array ({error}); pass rows of numbers, all of the same length"
        raise ValueError(msg) from error


def _of_objects(array: Any) -> Any:
    """The numbers of an array of objects."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        # scikit-learn raises the exceptions of NumPy, which name the object.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        msg = f"X has objects that are no real numbers: {error}; convert the data to numeric values"
        raise kind(msg) from error


def _require_size(shape: tuple[int, int], reader: str, minimum: int) -> None:
    (samples, features), required = shape, f"is required by {reader}."
    if samples < minimum:
        msg = f"Found array with {samples} sample(s) (shape={shape}) while a minimum of {minimum} {required}"
        raise ValueError(msg)
    if features < 1:
        msg = f"Found array with {features} feature(s) (shape={shape}) while a minimum of 1 {required}"
        raise ValueError(msg)
