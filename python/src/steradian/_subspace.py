"""What all estimators of a subspace share: fitting by the engine, use on new samples, model files."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from steradian import _engine
from steradian._data import SamplesLike, read
from steradian._diagnosis import Diagnosis
from steradian._names import check_names, check_width, learn_names
from steradian._progress import Callback, engine_callback
from steradian._threads import threads
from steradian._total_variance import TotalVariance

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


class Subspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A fit of the engine behind scikit-learn's interface.

    Children have the parameters `n_jobs` and `verbose`, and say by `_settings` what the engine is asked to do.
    """

    _model: _engine.Model
    _total_variance: TotalVariance
    n_jobs: int | None
    verbose: bool | int

    components_: npt.NDArray[np.float64]
    center_: npt.NDArray[np.float64]
    mean_: npt.NDArray[np.float64]
    explained_variance_: npt.NDArray[np.float64]
    support_: npt.NDArray[np.bool_]
    n_components_: int
    n_features_in_: int
    n_passes_: int
    residual_: float
    sine_bound_: float
    converged_: bool

    def _settings(self) -> dict[str, Any]:
        """What the engine is asked to do."""
        raise NotImplementedError

    def _learn(self, model: _engine.Model, total: TotalVariance) -> None:
        """Set what was learned; nothing here can fail, so that a fit is whole or absent."""
        self._model = model
        self._total_variance = total
        self.components_ = model.components
        self.center_ = model.center
        self.mean_ = self.center_
        self.explained_variance_ = model.variances
        self.support_ = model.kept
        self.n_components_ = len(self.components_)
        self.n_features_in_ = model.n_features
        self.n_passes_ = model.passes
        self.residual_, self.sine_bound_, self.converged_ = model.certificate

    def _forget(self) -> None:
        """Become unfitted."""
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_model", "_total_variance")]:
            delattr(self, name)

    def fit(self, X: SamplesLike, y: object = None, *, callback: Callback | None = None) -> Self:  # noqa: ARG002
        """Fit the subspace.

        Data are read in place, block by block, without Python's lock. Do not change them from another thread
        meanwhile: each pass takes the numbers that it finds. Ctrl-C, or any other failure, leaves the estimator
        unfitted.

        Parameters
        ----------
        X : array of (samples, features) or (samples, height, width), data frame, path or Samples
            Numbers of uint8, uint16, float32 and float64 are read as they are; other numbers are converted by block.
        y : ignored
            For scikit-learn's pipelines.
        callback : callable, optional
            Called with a :class:`Progress` now and then. An exception that it raises stops the fit.

        Returns
        -------
        self
        """
        self._forget()
        try:
            samples = read(X, reader=type(self).__name__, minimum=2)
            settings = self._settings()
            report = engine_callback(self.verbose, callback)
            learn_names(self, X, samples)
            count = threads(self.n_jobs)
            model = _engine.fit(samples, settings, threads=count, callback=report)
            total = TotalVariance(model, samples, count)
        except BaseException:
            self._forget()
            raise
        self._learn(model, total)
        for warning in model.warnings:
            category = UserWarning if self.converged_ else ConvergenceWarning
            warnings.warn(warning, category, stacklevel=2)
        return self

    def transform(self, X: SamplesLike, robust: bool = False) -> Any:
        """Scores of samples: their coordinates in the subspace, seen from the center.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples of the same features.
        robust : bool, default=False
            Find scores by Huber-weighted least squares over the features instead of a projection, so that a few bad
            cells of a sample do not move its scores. It is slower.

        Returns
        -------
        ndarray of shape (samples, n_components_)
            float64 for data of float64 and wider integers, else float32.
        """
        samples = self._samples(X)
        report = engine_callback(self.verbose, None)
        return self._model.transform(samples, robust=bool(robust), threads=threads(self.n_jobs), callback=report)

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
        return self._model.inverse(scores, threads=threads(self.n_jobs))

    @property
    def explained_variance_ratio_(self) -> npt.NDArray[np.float64]:
        """Shares of the total variance along the components.

        For large data the total is measured when this is first asked for, which reads up to 2048 samples once more;
        until then the estimator refers to its data. A copy or a pickle has it only if it was asked for before.
        """
        check_is_fitted(self)
        total = self._total_variance.measured(self._model)
        if total is None:
            msg = "the total variance was not measured before this model was saved or copied; fit again"
            raise AttributeError(msg)
        return self.explained_variance_ / total

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
        return Diagnosis(self._model, samples, names, threads(self.n_jobs), engine_callback(self.verbose, callback))

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
        estimator._learn(model, TotalVariance(model, None, 0))
        return estimator

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        """Parameters that lead to a model."""
        raise NotImplementedError

    def _samples(self, X: SamplesLike) -> _engine.Samples:
        """Samples to use the model on."""
        check_is_fitted(self)
        samples = read(X, reader=type(self).__name__)
        check_names(self, X)
        check_width(self, samples)
        return samples

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
