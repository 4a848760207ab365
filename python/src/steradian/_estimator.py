"""The base class of all estimators: fit by the engine, fitted state, samples for a fitted estimator."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from steradian._data import SamplesLike, read
from steradian._distributed import adapter
from steradian._names import check_names, check_width, set_feature_names
from steradian._progress import Callback, EngineCallback, engine_callback
from steradian._selection import excluded_rows
from steradian._threads import threads

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian import _engine


class Estimator(BaseEstimator):
    """A method of the engine with scikit-learn's interface.

    Subclasses have the parameters `n_jobs` and `verbose`. They define the settings of the engine (`_settings`), the
    call (`_run`) and the fitted attributes (`_set_fitted_attributes`).
    """

    _FITTED: ClassVar[tuple[str, ...]] = ("_model", "_rows", "_n_rows")
    """Fitted attributes beside those whose names end with an underscore."""

    _ON_CLUSTERS: ClassVar[bool] = False
    """True if data on a cluster are supported."""

    _rows: npt.NDArray[np.intp] | None = None
    """The rows of the data of the fit that are its samples; None if all of them are."""

    _model: Any
    _n_rows: int
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
        missing_mask: Any = None,
        exclude: Any = None,
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
            A missing cell is NaN, a null of a data frame, a masked cell of ``numpy.ma``, or an empty cell of a table.
        y : ignored
            Present for scikit-learn's pipelines.
        missing_mask : array of bool, or path of a .npy file, optional
            True for further missing cells, with the shape of `X`. For other methods than `fit` pass
            ``numpy.ma.masked_array(X, mask)``, or ``steradian.open(path, missing_mask=mask)``.
        exclude : array of bool or of int, or path of a .npy file, optional
            Rows that are no samples of the fit: True for each, or their indices. Attributes with one entry per sample,
            such as `support_`, have one for each row of `X`.
        callback : callable, optional
            Called with a :class:`Progress`, at least once per pass. An exception that it raises cancels the fit.

        Returns
        -------
        self
        """
        self._reset()
        try:
            settings = self._settings()
            report = engine_callback(self.verbose, callback)
            samples = self._of_fit(X, missing_mask, exclude, report)
            set_feature_names(self, samples.feature_names)
            model = self._run(samples, settings, report)
        except BaseException:
            self._reset()
            raise
        self._set_fitted_attributes(model)
        self._place_in_rows()
        category = UserWarning if getattr(self, "converged_", True) else ConvergenceWarning
        for warning in model.warnings:
            warnings.warn(warning, category, stacklevel=2)
        return self

    def _missing(self) -> str:
        """The treatment of missing cells: "use", "drop" or "error"; baselines and screens have no such parameter."""
        return "error"

    def _of_fit(self, X: SamplesLike, missing_mask: Any, exclude: Any, report: EngineCallback | None) -> Any:
        """The samples of a fit; data on a cluster only if the estimator supports them."""
        self._rows, missing = None, self._missing()
        reader = type(self).__name__
        cluster = adapter(X) if self._ON_CLUSTERS else None
        if cluster is not None:
            _require_no_selection(missing_mask, exclude, missing)
            return cluster.Partitions(X, reader=reader, minimum=2)
        # Rows are dropped below, so that their indices are known.
        samples = read(
            X, reader=reader, minimum=2, missing="error" if missing == "error" else "use", missing_mask=missing_mask
        )
        self._n_rows = samples.shape[0]
        excluded = excluded_rows(exclude, self._n_rows)
        if excluded:
            samples = samples.without(excluded)
        if missing == "drop":
            samples = samples.without(samples.incomplete(threads=self._threads(), callback=report))
        if samples.rows is not None:
            self._rows = samples.rows.astype(np.intp)
        if samples.shape[0] < 2:
            dropped = self._n_rows - len(excluded) - samples.shape[0]
            msg = (
                f"{samples.shape[0]} of {self._n_rows} rows are left ({len(excluded)} excluded, {dropped} dropped "
                f"because of missing cells) while a minimum of 2 is required by {reader}; exclude fewer rows, or use "
                'the rows with missing cells: missing="use"'
            )
            raise ValueError(msg)
        return samples

    def _place_in_rows(self) -> None:
        """Give attributes with one entry per sample of the fit an entry for each row of its data."""

    def _in_rows(self, values: npt.NDArray[Any], fill: object) -> npt.NDArray[Any]:
        """Values of the samples of the fit, in the rows of its data; `fill` for rows that are no samples."""
        if self._rows is None:
            return values
        placed = np.full((self._n_rows, *values.shape[1:]), fill, dtype=values.dtype)
        placed[self._rows] = values
        return placed

    def _samples(self, X: SamplesLike, missing_mask: Any = None) -> _engine.Samples:
        """Samples for a fitted estimator, with the features of the fit; there may be none, as in an empty chunk."""
        check_is_fitted(self)
        missing = "error" if self._missing() == "error" else "use"
        samples = read(X, reader=type(self).__name__, minimum=0, missing=missing, missing_mask=missing_mask)
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


def _require_no_selection(missing_mask: object, exclude: object, missing: str) -> None:
    """Reject what rows on a cluster do not support."""
    remedies = {
        "missing_mask": (missing_mask is not None, "set the missing cells of each part to NaN"),
        "exclude": (exclude is not None, "leave these rows out of the parts, for example X[keep]"),
        'missing="drop"': (missing == "drop", "leave these rows out of the parts, for example X.dropna()"),
    }
    for name, (given, remedy) in remedies.items():
        if given:
            msg = f"{name} is not supported for data on a cluster; {remedy}"
            raise TypeError(msg)
