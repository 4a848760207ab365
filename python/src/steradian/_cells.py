"""The diagnosis of cells: expected values, residuals in standard deviations, and masks of bad and missing cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

BAD, MISSING = 1, 2
"""The numbers of flags in the arrays of the engine; all other cells are usable."""


class CellDiagnosis:
    """The cells of some samples, as from :attr:`Diagnosis.cells`; all arrays have one row per sample.

    Attributes
    ----------
    samples : ndarray of int, of shape (rows,)
        Indices of the samples.
    feature_names : ndarray of str, of shape (features,)
        Names of the features: those of the data, or their indices.
    expected : ndarray of shape (rows, features)
        Expected value of each cell, from the usable cells of its sample, in data units.
    residual_sd : ndarray of shape (rows, features)
        Value minus expected value, in robust standard deviations of the feature; NaN for missing cells.
    bad : ndarray of bool, of shape (rows, features)
        Mask of the bad cells: those far from their expected values. The cells of an unusable row are not flagged.
    missing : ndarray of bool, of shape (rows, features)
        Mask of the missing cells.
    """

    def __init__(
        self,
        samples: npt.NDArray[np.intp],
        feature_names: npt.NDArray[Any],
        arrays: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.uint8]],
        take: Callable[[list[int]], npt.NDArray[Any]],
    ) -> None:
        self.samples = samples
        self.feature_names = feature_names
        self.expected, self.residual_sd, flags = arrays
        self.bad: npt.NDArray[np.bool_] = flags == BAD
        self.missing: npt.NDArray[np.bool_] = flags == MISSING
        self._take: Callable[[list[int]], npt.NDArray[Any]] | None = take

    def __repr__(self) -> str:
        rows, features = self.bad.shape
        return f"<CellDiagnosis of {rows} x {features} cells: {self.bad.sum()} bad, {self.missing.sum()} missing>"

    def __getstate__(self) -> dict[str, Any]:
        # The data are not pickled with their diagnosis.
        return {**vars(self), "_take": None}

    def to_pandas(self) -> Any:
        """The bad and the missing cells as a pandas DataFrame, with the columns of the command line's table."""
        import pandas as pd

        if self._take is None:
            msg = "a pickled or copied diagnosis does not contain the data; call diagnose again"
            raise ValueError(msg)
        rows, columns = np.nonzero(self.bad | self.missing)
        found, row_of = np.unique(rows, return_inverse=True)
        values = self._take([int(sample) for sample in self.samples[found]])
        missing = self.missing[rows, columns]
        return pd.DataFrame(
            {
                "sample": self.samples[rows],
                "feature": self.feature_names[columns],
                "value": np.where(missing, np.nan, values[row_of, columns]),
                "expected": self.expected[rows, columns],
                "residual_sd": self.residual_sd[rows, columns],
                "flag": pd.Categorical(np.where(missing, "missing", "bad"), categories=["bad", "missing"]),
            }
        )
