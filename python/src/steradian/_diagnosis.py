"""The diagnosis of samples: two distances, an angle, a flag, the contributions of the features, and the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steradian._cells import CellDiagnosis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from steradian import _engine

FLAGS = ("regular", "good_leverage", "orthogonal", "bad_leverage")
"""Within both cutoffs; score distance above its cutoff; orthogonal distance above its cutoff; both."""


class Diagnosis:
    """The result of :meth:`AngularEmbedding.diagnose`; all arrays are in the order of the data.

    Attributes
    ----------
    score_distance : ndarray of shape (samples,)
        Distance within the subspace, in robust standard deviations of the scores.
    orthogonal_distance : ndarray of shape (samples,)
        Distance to the subspace, in data units (in scaled units with ``scaling="mad"``). For methods that clean cells,
        and for samples with missing cells, the distance over usable cells, scaled for their number.
    angle_degrees : ndarray of shape (samples,)
        Angle between the centered sample and the subspace; NaN at the center.
    flag : ndarray of str, of shape (samples,)
        "regular", "good_leverage" (large score distance only), "orthogonal" (large orthogonal distance only) or
        "bad_leverage" (both). Unusable rows, of which most cells are bad or missing, are always flagged.
    score_cutoff, orthogonal_cutoff : float
        The cutoffs of the two distances; a NaN cutoff flags no sample.
    training : bool
        True if the cutoffs are those of the fit's own rows, False if they are those of new rows.
    feature_names : ndarray of str
        Names of the features: those of the data, or their indices.
    """

    def __init__(
        self,
        model: _engine.Model,
        samples: _engine.Samples,
        feature_names: npt.ArrayLike | None,
        threads: int = 0,
        callback: Any = None,
        *,
        training: bool = False,
    ) -> None:
        self._model = model
        self._samples: _engine.Samples | None = samples
        self._threads = threads
        self._cells: CellDiagnosis | None = None
        self.training = training
        self.score_distance, self.orthogonal_distance, self.angle_degrees, flags = model.diagnose(
            samples, training=training, threads=threads, callback=callback
        )
        self.flag = np.asarray(flags, dtype=f"<U{max(map(len, FLAGS))}")
        self.score_cutoff, self.orthogonal_cutoff = model.cutoffs(training)
        names = [str(j) for j in range(model.n_features)] if feature_names is None else feature_names
        self.feature_names = np.asarray(names, dtype=object)

    def __len__(self) -> int:
        return len(self.flag)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {flag}" for flag, count in self.counts().items())
        return f"<Diagnosis of {len(self)} samples: {counts}>"

    def __getstate__(self) -> dict[str, Any]:
        # The data are not pickled with their diagnosis.
        return {**vars(self), "_samples": None}

    def counts(self) -> dict[str, int]:
        """Number of samples with each flag."""
        return {flag: int((self.flag == flag).sum()) for flag in FLAGS}

    @property
    def is_regular(self) -> npt.NDArray[np.bool_]:
        """Mask of the samples within both cutoffs."""
        return np.asarray(self.flag == "regular")

    @property
    def excess(self) -> npt.NDArray[np.float64]:
        """The larger ratio of a distance to its cutoff: above 1 for flagged samples, at most 1 for regular ones."""
        ratios = np.zeros(len(self))
        for distance, cutoff in (
            (self.score_distance, self.score_cutoff),
            (self.orthogonal_distance, self.orthogonal_cutoff),
        ):
            if not np.isnan(cutoff):
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    ratios = np.fmax(ratios, distance / cutoff)
        ratios = np.minimum(ratios, np.finfo(np.float64).max)
        # A sample may be flagged for another reason than its distances: too few usable cells.
        flagged = np.maximum(ratios, np.nextafter(1.0, 2.0))
        return np.where(self.is_regular, np.minimum(ratios, 1.0), flagged)

    def worst(self, count: int | None = None) -> npt.NDArray[np.intp]:
        """Indices of the flagged samples, in order of decreasing ratio of distance to cutoff.

        Parameters
        ----------
        count : int, optional
            Largest number of indices.
        """
        order = np.argsort(-self.excess, kind="stable")
        return np.asarray(order[~self.is_regular[order]][:count])

    def contributions(self, samples: Sequence[int] | npt.NDArray[Any] | None = None) -> npt.NDArray[np.float64]:
        """Fractions of the squared orthogonal distance of samples that are due to each feature.

        Parameters
        ----------
        samples : sequence of int, optional
            Indices of samples; all by default, which needs as much memory as the data in float64.

        Returns
        -------
        ndarray of shape (len(samples), features)
            Each row sums to 1, or is 0 for a sample in the subspace.
        """
        return self._model.contributions(self._data(), self._rows(samples))

    @property
    def cells(self) -> CellDiagnosis:
        """The cells of all samples, for ``method="robust"``, ``"rows"`` and ``"cells"``; computed on first use.

        This takes 18 bytes per cell; :meth:`cells_of` has only those of some samples.
        """
        if self._cells is None:
            self._cells = self.cells_of()
        return self._cells

    def cells_of(self, samples: Sequence[int] | npt.NDArray[Any] | None = None) -> CellDiagnosis:
        """The cells of some samples, see :attr:`cells`.

        Parameters
        ----------
        samples : sequence of int, optional
            Indices of samples; all by default.
        """
        data, rows = self._data(), self._rows(samples)
        found = self._model.diagnose_cells(data, rows, training=self.training, threads=self._threads)
        if found is None:
            msg = (
                'the cells of samples require a model fitted with method="robust", "rows" or "cells", got '
                f'method="{self._model.method}"'
            )
            raise ValueError(msg)
        return CellDiagnosis(np.asarray(rows, dtype=np.intp), self.feature_names, found, data.take)

    def bad_cells(self, samples: Sequence[int] | npt.NDArray[Any] | None = None) -> npt.NDArray[np.bool_]:
        """Mask of the bad cells of samples, as in :meth:`cells_of`.

        Parameters
        ----------
        samples : sequence of int, optional
            Indices of samples; all by default.

        Returns
        -------
        ndarray of bool, of shape (len(samples), features)
        """
        return self.cells_of(samples).bad

    def _data(self) -> _engine.Samples:
        if self._samples is None:
            msg = "a pickled or copied diagnosis does not contain the data; call diagnose again"
            raise ValueError(msg)
        return self._samples

    def _rows(self, samples: Sequence[int] | npt.NDArray[Any] | None) -> list[int]:
        rows = np.arange(len(self)) if samples is None else np.asarray(samples)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            msg = f"expected a list of sample indices, got an array of shape {rows.shape} and dtype {rows.dtype}"
            raise ValueError(msg)
        outside = rows[(rows < 0) | (rows >= len(self))]
        if outside.size:
            msg = f"sample {outside[0]} is not among the {len(self)} diagnosed samples; indices count from 0"
            raise ValueError(msg)
        return [int(row) for row in rows]

    def to_pandas(self) -> Any:
        """The arrays as a pandas DataFrame, one row per sample, with the columns of the command line's table."""
        import pandas as pd

        columns = {
            "score_distance": self.score_distance,
            "orthogonal_distance": self.orthogonal_distance,
            "angle_degrees": self.angle_degrees,
            "flag": pd.Categorical(self.flag, categories=FLAGS),
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="sample"))
