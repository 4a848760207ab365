"""Masks of missing cells and rows that are excluded from a fit, as users give them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian._engine import Samples

MISSING = ("use", "drop", "error")
"""Treatments of missing cells: fit the other cells of a row, leave the row out of the fit, or raise an error."""


def with_missing(samples: Samples, mask: object, known: npt.NDArray[np.bool_] | None = None) -> Samples:
    """The samples with the missing cells of a mask, which may be the path of a ``.npy`` file, and of a known one."""
    if mask is None and known is None:
        return samples
    if mask is None:
        return samples.with_missing(_table(known, samples))
    found = _table(_boolean("missing_mask", mask), samples)
    return samples.with_missing(found if known is None else found | _table(known, samples))


def excluded_rows(exclude: object, n_samples: int) -> list[int]:
    """The indices of the excluded rows, ascending, from a boolean array with one value per row, or from indices."""
    if exclude is None:
        return []
    found = _loaded("exclude", exclude)
    if found.ndim != 1 or found.dtype.kind not in "biu":
        if found.size:
            msg = (
                f"exclude has shape {found.shape} and dtype {found.dtype}; expected one boolean per row, shape "
                f"({n_samples},), or the indices of rows"
            )
            raise ValueError(msg)
        return []
    if found.dtype.kind == "b":
        if len(found) != n_samples:
            msg = f"exclude has shape {found.shape} but the data have {n_samples} rows; use one boolean per row"
            raise ValueError(msg)
        return [int(row) for row in np.flatnonzero(found)]
    outside = found[(found < 0) | (found >= n_samples)]
    if outside.size:
        msg = f"exclude has the index {outside[0]} but the data have {n_samples} rows; indices count from 0"
        raise ValueError(msg)
    return [int(row) for row in np.unique(found)]


def _boolean(name: str, mask: object) -> npt.NDArray[np.bool_]:
    found = _loaded(name, mask)
    if found.dtype != np.bool_:
        msg = f"{name} has dtype {found.dtype}; expected booleans that are True for missing cells, for example X.isna()"
        raise ValueError(msg)
    return found


def _loaded(name: str, value: object) -> npt.NDArray[Any]:
    """The array of a path, a data frame or an array-like value."""
    if isinstance(value, (str, os.PathLike)):
        try:
            return np.asarray(np.load(os.fspath(value), mmap_mode="r", allow_pickle=False))
        except (ValueError, EOFError) as error:
            msg = f"{name}: {os.fspath(value)} is not an array in a .npy file ({error}); write it with numpy.save"
            raise ValueError(msg) from error
    return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)


def _table(mask: Any, samples: Samples) -> Any:
    """The mask with one axis of features; the mask of images has their axes."""
    if samples.image is not None and mask.shape == (samples.shape[0], *samples.image):
        return mask.reshape(samples.shape)
    if mask.shape != samples.shape:
        expected = samples.shape if samples.image is None else (samples.shape[0], *samples.image)
        msg = f"missing_mask has shape {mask.shape} but the data have shape {expected}; use one boolean per cell"
        raise ValueError(msg)
    return mask
