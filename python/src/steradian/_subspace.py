"""What all estimators of a subspace share: use on new samples, diagnosis, model files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from steradian import _engine
from steradian._data import SamplesLike, read
from steradian._diagnosis import Diagnosis
from steradian._elsewhere import adapter
from steradian._estimator import Estimator

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian._progress import Callback, EngineCallback


class Subspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A subspace that the engine fits."""

    _model: _engine.Model

    components_: npt.NDArray[np.float64]
    center_: npt.NDArray[np.float64]
    explained_variance_: npt.NDArray[np.float64]
    support_: npt.NDArray[np.bool_]
    n_components_: int
    n_passes_: int
    residual_: float
    sine_bound_: float
    converged_: bool

    def _run(self, samples: Any, settings: dict[str, Any], callback: EngineCallback | None) -> _engine.Model:
        if not isinstance(samples, _engine.Samples):
            model: _engine.Model = samples.fit(settings, self._threads(), callback)
            return model
        return _engine.fit(samples, settings, threads=self._threads(), callback=callback)

    def _learn(self, model: _engine.Model) -> None:
        super()._learn(model)
        self.components_ = model.components
        self.center_ = model.center
        self.explained_variance_ = model.variances
        self.support_ = model.kept
        self.n_components_ = len(self.components_)
        self.n_passes_ = model.passes
        self.residual_, self.sine_bound_, self.converged_ = model.certificate

    def transform(self, X: SamplesLike, robust_scores: bool | None = None) -> Any:
        """Scores of samples: their coordinates in the subspace, seen from the center.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples of the same features.
        robust_scores : bool, optional
            Whether scores come from Huber regression over the features instead of a projection, so that a few bad
            cells of a sample do not move its scores. It is slower. By default the model decides: the one that
            ``steradian fit --robust-scores`` wrote has robust scores, all others have projections.

        Returns
        -------
        ndarray of shape (samples, n_components_)
            float64 for data of float64 and wider integers, else float32. For a dask array it is a lazy dask array,
            for a list of ``dask.delayed`` parts a list of those; for a Spark data frame it is that frame with a column
            ``scores`` more.
        """
        cluster = adapter(X)
        if cluster is not None:
            check_is_fitted(self)
            return cluster.transformed(self, X, robust_scores)
        samples = self._samples(X)
        return self._model.transform(
            samples, robust_scores=robust_scores, threads=self._threads(), callback=self._report()
        )

    def inverse_transform(self, X: npt.ArrayLike) -> Any:
        """Samples that scores stand for: the point of the subspace with these coordinates.

        Parameters
        ----------
        X : array of shape (samples, n_components_)
            Scores, as from :meth:`transform`.

        Returns
        -------
        ndarray of shape (samples, n_features_in_)
        """
        check_is_fitted(self)
        scores = read(X, reader=type(self).__name__)
        return self._model.inverse(scores, threads=self._threads())

    @property
    def explained_variance_ratio_(self) -> npt.NDArray[np.float64]:
        """Fractions of the total variance along the components; they lie in [0, 1] and sum to at most 1.

        Variances and total are of one kind. For :class:`PCA` and ``EMPCA(on_sphere=False)`` the total is the sum of
        the variances of the features, with n - 1. For all others it is the sum of `explained_variance_` and the robust
        mean of squared orthogonal distances of the samples in the support. It is stored in the model.
        """
        check_is_fitted(self)
        total = self._model.total_variance
        if total is None:
            msg = "the model file has no total variance, since an older version wrote it; fit again"
            raise AttributeError(msg)
        return self.explained_variance_ / total if total > 0 else np.zeros_like(self.explained_variance_)

    def diagnose(self, X: SamplesLike, *, callback: Callback | None = None) -> Diagnosis:
        """How samples lie to the model: distances, angles, flags and contributions of features.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples of the same features; those of the fit, or new ones.
        callback : callable, optional
            See :meth:`fit`.

        Returns
        -------
        Diagnosis
        """
        samples = self._samples(X)
        names = getattr(self, "feature_names_in_", None)
        return Diagnosis(self._model, samples, names, self._threads(), self._report(callback))

    def predict(self, X: SamplesLike) -> npt.NDArray[np.int64]:
        """Judge samples by the cutoffs that the fit stored.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples of the same features.

        Returns
        -------
        ndarray of shape (samples,)
            1 within both cutoffs, -1 beyond one of them. :meth:`diagnose` tells which.
        """
        return np.where(self.diagnose(X).is_regular, 1, -1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file that the command line reads. It appears whole or not at all.

        The file holds no feature names and no `n_jobs`, `memory_limit` or `verbose`; pickle keeps those.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, whoever wrote it."""
        return cls._of_model(_engine.Model.load(os.fspath(path)), path)

    @classmethod
    def _of_model(cls, model: _engine.Model, path: str | os.PathLike[str]) -> Self:
        metadata = json.loads(model.metadata)
        estimator = cls(**cls._parameters_of(metadata, model, os.fspath(path)))
        estimator._learn(model)
        return estimator

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        """Parameters that lead to a model."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
