"""The base class of all estimators: fit by the engine, fitted state, samples for a fitted estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from steradian._data import SamplesLike, read
from steradian._distributed import adapter
from steradian._names import check_names, check_width, set_feature_names
from steradian._progress import Callback, EngineCallback, engine_callback
from steradian._threads import threads

if TYPE_CHECKING:
    from typing_extensions import Self

    from steradian import _engine


class Estimator(BaseEstimator):
    """A method of the engine with scikit-learn's interface.

    Subclasses have the parameters `n_jobs` and `verbose`. They define the settings of the engine (`_settings`), the
    call (`_run`) and the fitted attributes (`_set_fitted_attributes`).
    """

    _FITTED: ClassVar[tuple[str, ...]] = ("_model",)
    """Fitted attributes beside those whose names end with an underscore."""

    _ON_CLUSTERS: ClassVar[bool] = False
    """True if data on a cluster are supported."""

    _model: Any
    n_jobs: int | None
    verbose: bool | int
    n_features_in_: int

    def _settings(self) -> dict[str, Any]:
        """The settings of the engine; validates the parameters."""
        raise NotImplementedError

    def _run(self, samples: Any, settings: dict[str, Any], callback: EngineCallback | None) -> Any:
        """The result of the engine."""
        raise NotImplementedError

    def _set_fitted_attributes(self, model: Any) -> None:
        """Set the fitted attributes. This must not fail: an estimator is either fitted completely or not at all."""
        self._model = model
        self.n_features_in_ = model.n_features

    def _reset(self) -> None:
        """Delete the fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") or name in self._FITTED]:
            delattr(self, name)

    def fit(
        self,
        X: SamplesLike,
        y: object = None,  # noqa: ARG002
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit to samples.

        Data are read in place, block by block, without the interpreter's lock. Do not modify them from another thread
        during the fit: each pass reads the values that are present at that time. After Ctrl-C or any other failure the
        estimator is not fitted.

        Parameters
        ----------
        X : array of (samples, features) or (samples, height, width), data frame, path or Samples
            Values of dtype uint8, uint16, float32 and float64 are read in place; others are converted block by block.
            :class:`AngularEmbedding` and :class:`PCA` also take Dask arrays, data frames, ``dask.delayed`` parts and
            futures, and lists of these (:mod:`steradian.dask`), and a Spark data frame (:mod:`steradian.spark`).
        y : ignored
            Present for scikit-learn's pipelines.
        callback : callable, optional
            Called with a :class:`Progress`, at least once per pass. An exception that it raises cancels the fit.

        Returns
        -------
        self
        """
        self._reset()
        try:
            samples = self._of_fit(X)
            settings = self._settings()
            report = engine_callback(self.verbose, callback)
            set_feature_names(self, samples.feature_names)
            model = self._run(samples, settings, report)
        except BaseException:
            self._reset()
            raise
        self._set_fitted_attributes(model)
        category = UserWarning if getattr(self, "converged_", True) else ConvergenceWarning
        for warning in model.warnings:
            warnings.warn(warning, category, stacklevel=2)
        return self

    def _of_fit(self, X: SamplesLike) -> Any:
        """The samples of a fit; data on a cluster only if the estimator supports them."""
        cluster = adapter(X) if self._ON_CLUSTERS else None
        if cluster is not None:
            return cluster.Partitions(X, reader=type(self).__name__, minimum=2)
        return read(X, reader=type(self).__name__, minimum=2)

    def _samples(self, X: SamplesLike) -> _engine.Samples:
        """Samples for a fitted estimator, with the features of the fit; there may be none, as in an empty chunk."""
        check_is_fitted(self)
        samples = read(X, reader=type(self).__name__, minimum=0)
        check_names(self, X, samples)
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
