"""The diagnosis of samples: two distances, an angle, a flag, and the contributions of the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
        Distance to the subspace, in data units (in scaled units with ``scaling="mad"``).
    angle_degrees : ndarray of shape (samples,)
        Angle between the centered sample and the subspace; NaN at the center.
    flag : ndarray of str, of shape (samples,)
        "regular", "good_leverage" (large score distance only), "orthogonal" (large orthogonal distance only) or
        "bad_leverage" (both).
    score_cutoff, orthogonal_cutoff : float
        The cutoffs of the two distances; a NaN cutoff flags no sample.
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
    ) -> None:
        self._model = model
        self._samples: _engine.Samples | None = samples
        self._threads = threads
        self.score_distance, self.orthogonal_distance, self.angle_degrees, flags = model.diagnose(
            samples, threads=threads, callback=callback
        )
        self.flag = np.asarray(flags, dtype=f"<U{max(map(len, FLAGS))}")
        self.score_cutoff, self.orthogonal_cutoff = model.cutoffs
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

    def worst(self, count: int | None = None) -> npt.NDArray[np.intp]:
        """Indices of the flagged samples, in order of decreasing ratio of distance to cutoff.

        Parameters
        ----------
        count : int, optional
            Largest number of indices.
        """
        excess = np.fmax(self.score_distance / self.score_cutoff, self.orthogonal_distance / self.orthogonal_cutoff)
        order = np.argsort(-excess, kind="stable")
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

    def bad_cells(self, samples: Sequence[int] | npt.NDArray[Any] | None = None) -> npt.NDArray[np.bool_]:
        """Mask of the bad cells of samples, for a model that cleaned cells (``method="cells"``).

        Parameters
        ----------
        samples : sequence of int, optional
            Indices of samples; all by default.

        Returns
        -------
        ndarray of bool, of shape (len(samples), features)
        """
        mask = self._model.bad_cells(self._data(), self._rows(samples))
        if mask is None:
            msg = f'bad_cells requires a model fitted with method="cells", got method="{self._model.method}"'
            raise ValueError(msg)
        return mask

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
