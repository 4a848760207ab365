"""Completed samples in the kind of the data that they were read from: a data frame stays a data frame."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._set_output import _get_output_config

from steradian._data import is_frame

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian._data import SamplesLike


def completed_like(X: SamplesLike, values: npt.NDArray[Any], changed: npt.NDArray[np.bool_], estimator: Any) -> Any:
    """Completed values as the kind of `X`, or as the kind that `set_output` of the estimator requested."""
    requested = _get_output_config("transform", estimator)["dense"]
    if requested == "default":
        return _frame_like(X, values, changed) if is_frame(X) else values
    if values.ndim > 2:
        values = values.reshape(len(values), -1)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", range(values.shape[1]))]
    if requested == "pandas":
        import pandas as pd

        return pd.DataFrame(values, columns=names, index=getattr(X, "index", None) if is_frame(X) else None)
    import polars as pl

    return pl.DataFrame(values, schema=names, orient="row")


def _frame_like(X: Any, values: npt.NDArray[Any], changed: npt.NDArray[np.bool_]) -> Any:
    """A frame of the kind of `X`; columns without a changed cell are those of `X`."""
    columns = [int(column) for column in np.flatnonzero(changed.any(axis=0))]
    if type(X).__module__.startswith("polars"):
        return _of_polars(X, values, columns)
    return _of_pandas(X, values, columns) if hasattr(X, "iloc") else _of_arrow(X, values, columns)


def _of_pandas(X: Any, values: npt.NDArray[Any], columns: list[int]) -> Any:
    import pandas as pd

    completed = [X.iloc[:, column] for column in range(X.shape[1])]
    for column in columns:
        dtype = X.dtypes.iloc[column]
        is_float = isinstance(dtype, np.dtype) and dtype.kind == "f"
        completed[column] = pd.Series(values[:, column].astype(dtype if is_float else np.float64), index=X.index)
    frame = pd.concat(completed, axis=1) if completed else X.copy()
    frame.columns = X.columns
    return frame


def _of_polars(X: Any, values: npt.NDArray[Any], columns: list[int]) -> Any:
    polars = sys.modules["polars"]
    names, types = X.columns, X.dtypes
    return X.with_columns(
        polars.Series(names[column], np.ascontiguousarray(values[:, column])).cast(
            polars.Float32 if types[column] == polars.Float32 else polars.Float64
        )
        for column in columns
    )


def _of_arrow(X: Any, values: npt.NDArray[Any], columns: list[int]) -> Any:
    arrow = sys.modules["pyarrow"]
    completed = [X.column(column) for column in range(len(X.schema.names))]
    for column in columns:
        own = X.schema.field(column).type
        kind = arrow.float32() if own == arrow.float32() else arrow.float64()
        completed[column] = arrow.array(np.ascontiguousarray(values[:, column]), type=kind)
    return type(X).from_arrays(completed, names=X.schema.names)
