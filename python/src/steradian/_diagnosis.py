"""How samples lie to a model: two distances, an angle, a flag, and which features say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from steradian import _engine

FLAGS = ("regular", "good_leverage", "orthogonal", "bad_leverage")
"""Within both cutoffs; far along the subspace; off it; both."""


class Diagnosis:
    """What :meth:`AngularEmbedding.diagnose` found; all arrays are in the order of the data.

    Attributes
    ----------
    score_distance : ndarray of shape (samples,)
        Distance along the components, in robust standard deviations.
    orthogonal_distance : ndarray of shape (samples,)
        Distance from the subspace, in the units of the data (scaled ones, where features were scaled).
    angle_degrees : ndarray of shape (samples,)
        Angle to the subspace, seen from the center; not a number at the center.
    flag : ndarray of str, of shape (samples,)
        "regular", "good_leverage" (far along the subspace, near it), "orthogonal" (off the subspace) or "bad_leverage"
        (both).
    score_cutoff, orthogonal_cutoff : float
        What the flags go by; a cutoff that is not a number flags nobody.
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
        # Data do not travel with their diagnosis.
        return {**vars(self), "_samples": None}

    def counts(self) -> dict[str, int]:
        """How many samples have each flag."""
        return {flag: int((self.flag == flag).sum()) for flag in FLAGS}

    @property
    def is_regular(self) -> npt.NDArray[np.bool_]:
        """Which samples lie within both cutoffs."""
        return np.asarray(self.flag == "regular")

    def worst(self, count: int | None = None) -> npt.NDArray[np.intp]:
        """Indices of the samples that are not regular, those furthest beyond a cutoff first.

        Parameters
        ----------
        count : int, optional
            At most this many.
        """
        excess = np.fmax(self.score_distance / self.score_cutoff, self.orthogonal_distance / self.orthogonal_cutoff)
        order = np.argsort(-excess, kind="stable")
        return np.asarray(order[~self.is_regular[order]][:count])

    def contributions(self, samples: Sequence[int] | npt.NDArray[Any] | None = None) -> npt.NDArray[np.float64]:
        """What each feature contributes to the squared orthogonal distance of samples.

        Parameters
        ----------
        samples : sequence of int, optional
            Which samples; all of them by default, which takes as much memory as the data in float64.

        Returns
        -------
        ndarray of shape (len(samples), features)
            Each row sums to 1; it is all 0 for a sample within the subspace.
        """
        return self._model.contributions(self._data(), self._rows(samples))

    def bad_cells(self, samples: Sequence[int] | npt.NDArray[Any] | None = None) -> npt.NDArray[np.bool_]:
        """Which single cells do not fit, under a model fitted with ``cells="clean"``.

        Parameters
        ----------
        samples : sequence of int, optional
            Which samples; all of them by default.

        Returns
        -------
        ndarray of bool, of shape (len(samples), features)
        """
        mask = self._model.bad_cells(self._data(), self._rows(samples))
        if mask is None:
            msg = 'the model does not know how far the cells of each feature may lie off; fit with cells="clean"'
            raise ValueError(msg)
        return mask

    def _data(self) -> _engine.Samples:
        if self._samples is None:
            msg = "the data did not travel with this diagnosis, which was pickled or copied; diagnose them again"
            raise ValueError(msg)
        return self._samples

    def _rows(self, samples: Sequence[int] | npt.NDArray[Any] | None) -> list[int]:
        rows = np.arange(len(self)) if samples is None else np.asarray(samples)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            msg = f"samples of shape {rows.shape} and type {rows.dtype} are no list of indices; give indices from 0"
            raise ValueError(msg)
        outside = rows[(rows < 0) | (rows >= len(self))]
        if outside.size:
            msg = f"sample {outside[0]} is not among the {len(self)} that were diagnosed; indices count from 0"
            raise ValueError(msg)
        return [int(row) for row in rows]

    def to_pandas(self) -> Any:
        """The arrays as a pandas DataFrame, one row a sample; the columns are those of the command line's table."""
        import pandas as pd

        columns = {
            "score_distance": self.score_distance,
            "orthogonal_distance": self.orthogonal_distance,
            "angle_degrees": self.angle_degrees,
            "flag": pd.Categorical(self.flag, categories=FLAGS),
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="sample"))
