"""What all estimators share: a fit by the engine that is whole or absent, and samples for its use."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from steradian._data import SamplesLike, read
from steradian._elsewhere import adapter
from steradian._names import check_names, check_width, learn_names
from steradian._progress import Callback, EngineCallback, engine_callback
from steradian._threads import threads

if TYPE_CHECKING:
    from typing_extensions import Self

    from steradian import _engine


class Estimator(BaseEstimator):
    """A call of the engine behind scikit-learn's interface.

    Children have the parameters `n_jobs` and `verbose`. They say what the engine is asked to do (`_settings`), call it
    (`_run`), and set what was learned (`_learn`).
    """

    _LEARNED: ClassVar[tuple[str, ...]] = ("_model",)
    """Attributes that come and go with a fit, beside those that end in an underscore."""

    _ON_CLUSTERS: ClassVar[bool] = False
    """Whether rows may lie on a cluster."""

    _model: Any
    n_jobs: int | None
    verbose: bool | int
    n_features_in_: int

    def _settings(self) -> dict[str, Any]:
        """What the engine is asked to do."""
        raise NotImplementedError

    def _run(self, samples: Any, settings: dict[str, Any], callback: EngineCallback | None) -> Any:
        """What the engine found."""
        raise NotImplementedError

    def _learn(self, model: Any) -> None:
        """Set what was learned; nothing here can fail, so that a fit is whole or absent."""
        self._model = model
        self.n_features_in_ = model.n_features

    def _forget(self) -> None:
        """Become unfitted."""
        for name in [name for name in vars(self) if name.endswith("_") or name in self._LEARNED]:
            delattr(self, name)

    def fit(
        self,
        X: SamplesLike,
        y: object = None,  # noqa: ARG002
        *,
        callback: Callback | None = None,
        exact: bool = False,
    ) -> Self:
        """Fit to samples.

        Data are read in place, block by block, without Python's lock. Do not change them from another thread
        meanwhile: each pass takes the numbers that it finds. Ctrl-C, or any other failure, leaves the estimator
        unfitted.

        Parameters
        ----------
        X : array of (samples, features) or (samples, height, width), data frame, path or Samples
            Numbers of uint8, uint16, float32 and float64 are read as they are; other numbers are converted by block.
            :class:`AngularEmbedding` and :class:`PCA` also take a dask array or a list of ``dask.delayed`` parts
            (:mod:`steradian.dask`), and a Spark data frame (:mod:`steradian.spark`).
        y : ignored
            For scikit-learn's pipelines.
        callback : callable, optional
            Called with a :class:`Progress` now and then. An exception that it raises stops the fit.
        exact : bool, default=False
            Whether a cone meets all pairs of samples, however long it takes. Otherwise its pivot is found by
            elimination where all pairs would take more than about a minute, and on a cluster; it is the same but with
            a probability of 1e-6, and ``tau_`` holds estimates for samples that were ruled out.

        Returns
        -------
        self
        """
        self._forget()
        try:
            samples = self._of_fit(X)
            settings = self._settings() | ({"counting": "exact"} if exact else {})
            report = engine_callback(self.verbose, callback)
            learn_names(self, X, samples)
            model = self._run(samples, settings, report)
        except BaseException:
            self._forget()
            raise
        self._learn(model)
        category = UserWarning if getattr(self, "converged_", True) else ConvergenceWarning
        for warning in model.warnings:
            warnings.warn(warning, category, stacklevel=2)
        return self

    def _of_fit(self, X: SamplesLike) -> Any:
        """Samples to fit to; those of a cluster only where the method can send its passes there."""
        cluster = adapter(X) if self._ON_CLUSTERS else None
        if cluster is not None:
            return cluster.Partitions(X, reader=type(self).__name__, minimum=2)
        return read(X, reader=type(self).__name__, minimum=2)

    def _samples(self, X: SamplesLike) -> _engine.Samples:
        """Samples to use the fit on."""
        check_is_fitted(self)
        samples = read(X, reader=type(self).__name__)
        check_names(self, X)
        check_width(self, samples)
        return samples

    def _threads(self) -> int:
        return threads(self.n_jobs)

    def _report(self, callback: Callback | None = None) -> EngineCallback | None:
        return engine_callback(self.verbose, callback)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
