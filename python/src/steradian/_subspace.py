"""The base class of the estimators of a subspace: scores, reconstruction, diagnosis, model files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from steradian import _engine
from steradian._completed import completed_like
from steradian._data import SamplesLike, read
from steradian._diagnosis import Diagnosis
from steradian._distributed import adapter
from steradian._estimator import Estimator
from steradian._names import set_feature_names

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian._progress import Callback, EngineCallback


class Subspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator of a subspace."""

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
    offset_: float

    def _run(self, samples: Any, settings: dict[str, Any], callback: EngineCallback | None) -> Any:
        if not isinstance(samples, _engine.Samples):
            return samples.fit(settings, self._threads(), callback)
        return _engine.fit(samples, settings, threads=self._threads(), callback=callback)

    def _set_fitted_attributes(self, model: _engine.Model) -> None:
        super()._set_fitted_attributes(model)
        self.components_ = model.components
        self.center_ = model.center
        self.explained_variance_ = model.explained_variance
        self.support_ = model.support
        self.n_components_ = len(self.components_)
        self.n_passes_ = model.passes
        self.residual_, self.sine_bound_, self.converged_ = model.certificate
        self.offset_ = -1.0

    def _fitted_model(self) -> _engine.Model:
        """The model of the fit."""
        return self._model

    def _place_in_rows(self) -> None:
        self.support_ = self._in_rows(self.support_, False)

    def fit_transform(
        self,
        X: SamplesLike,
        y: object = None,
        *,
        missing_mask: Any = None,
        exclude: Any = None,
        callback: Callback | None = None,
    ) -> Any:
        """Fit to samples, and return their scores.

        Parameters
        ----------
        X, y, missing_mask, exclude, callback
            See :meth:`fit`. Excluded rows have scores, too.

        Returns
        -------
        ndarray of shape (samples, n_components_)
            As from :meth:`transform`.
        """
        self.fit(X, y, missing_mask=missing_mask, exclude=exclude, callback=callback)
        return self._transformed(X, None, missing_mask)

    def fit_predict(
        self,
        X: SamplesLike,
        y: object = None,
        *,
        missing_mask: Any = None,
        exclude: Any = None,
        callback: Callback | None = None,
    ) -> npt.NDArray[np.int64]:
        """Fit to samples, and classify them by the cutoffs of the fit's own rows.

        Parameters
        ----------
        X, y, missing_mask, exclude, callback
            See :meth:`fit`. Rows that are no samples of the fit are classified by the cutoffs of new rows.

        Returns
        -------
        ndarray of shape (samples,)
            1 for an inlier, -1 for an outlier.
        """
        self.fit(X, y, missing_mask=missing_mask, exclude=exclude, callback=callback)
        samples = self._samples(X, missing_mask)
        regular = self._diagnosis(samples, training=True).is_regular
        if self._rows is not None:
            is_new = self._in_rows(np.zeros(len(self._rows), dtype=bool), True)
            regular = np.where(is_new, self._diagnosis(samples).is_regular, regular)
        return np.where(regular, 1, -1)

    def transform(self, X: SamplesLike, robust_scores: bool | None = None) -> Any:
        """Scores of samples: coordinates of the centered samples along the components.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit. The scores of a sample with missing cells, or with bad cells under a
            method that cleans cells, are computed from its usable cells.
        robust_scores : bool, optional
            True: scores by Huber regression over the features, which a few bad cells of a sample do not distort; it is
            slower. False: scores by orthogonal projection. None: the default of the model, which is False unless the
            model was fitted with ``robust_scores=True`` (or ``steradian fit --robust-scores``). Not for
            ``method="robust"``, ``"rows"`` and ``"cells"``, whose scores are computed from usable cells.

        Returns
        -------
        ndarray of shape (samples, n_components_)
            float64 for data of float64 and of 32- and 64-bit integers, else float32. For a Dask array or data frame, a
            lazy Dask array; for a ``dask.delayed`` part or a future, a delayed part; for a list of these, a list; for a
            Spark data frame, the data frame with an additional column ``scores``.
        """
        return self._transformed(X, robust_scores)

    def _transformed(self, X: SamplesLike, robust_scores: bool | None, missing_mask: Any = None) -> Any:
        cluster = adapter(X)
        if cluster is not None:
            check_is_fitted(self)
            return cluster.transformed(self, X, robust_scores)
        samples = self._samples(X, missing_mask)
        return self._model.transform(
            samples, robust_scores=robust_scores, threads=self._threads(), callback=self._report()
        )

    def inverse_transform(self, X: npt.ArrayLike) -> Any:
        """Reconstructions from scores: the points of the subspace with these coordinates.

        Parameters
        ----------
        X : array of shape (samples, n_components_)
            Scores, as from :meth:`transform`.

        Returns
        -------
        ndarray of shape (samples, n_features_in_)
        """
        check_is_fitted(self)
        scores = read(X, reader=type(self).__name__, minimum=0)
        return self._model.inverse(scores, threads=self._threads())

    @property
    def explained_variance_ratio_(self) -> npt.NDArray[np.float64]:
        """Fractions of the total variance along the components, each in [0, 1], with a sum of at most 1.

        For classical PCA, including ``EMPCA(on_sphere=False)``, the total is the sum of the variances of the features
        (divisor n - 1). For all others it is the sum of `explained_variance_` and the robust mean of squared orthogonal
        distances of the support. It is stored in the model.
        """
        check_is_fitted(self)
        total = self._model.total_variance
        if total is None:
            msg = "the model file of an older version has no total variance; fit again"
            raise AttributeError(msg)
        return self.explained_variance_ / total if total > 0 else np.zeros_like(self.explained_variance_)

    def impute(self, X: SamplesLike, *, bad_cells: bool = False, return_mask: bool = False) -> Any:
        """Samples with expected values in place of missing cells, and on request of bad cells.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit: those of the fit, or new ones.
        bad_cells : bool, default=False
            Replace bad cells, too; for ``method="robust"``, ``"rows"`` and ``"cells"``.
        return_mask : bool, default=False
            Return a mask of the replaced cells, too.

        Returns
        -------
        data frame or ndarray
            Of the kind and shape of `X`, or as requested by `set_output`. An array is float64 or float32, as from
            :meth:`transform`; columns of a data frame that are complete are unchanged.
        mask : ndarray of bool, of the shape of the data
            True for replaced cells; only with ``return_mask=True``.
        """
        samples = self._samples(X)
        values, mask = self._fitted_model().impute(
            samples, bad_cells=bad_cells, threads=self._threads(), callback=self._report()
        )
        shape = (samples.shape[0], *(samples.image or samples.shape[1:]))
        completed = completed_like(X, values.reshape(shape), mask, self)
        return (completed, mask.reshape(shape)) if return_mask else completed

    def diagnose(self, X: SamplesLike, *, training: bool = False, callback: Callback | None = None) -> Diagnosis:
        """Distances, angles and flags of samples, contributions of the features, and the diagnosis of cells.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit: those of the fit, or new ones.
        training : bool, default=False
            True: classify by the cutoffs of the fit's own rows. The model has adapted to these rows, so that their
            distances are smaller than those of new rows, above all if there are few rows per feature.
        callback : callable, optional
            See :meth:`fit`.

        Returns
        -------
        Diagnosis
        """
        return self._diagnosis(self._samples(X), callback, training=training)

    def _diagnosis(
        self, samples: _engine.Samples, callback: Callback | None = None, *, training: bool = False
    ) -> Diagnosis:
        names = getattr(self, "feature_names_in_", None)
        model = self._fitted_model()
        return Diagnosis(model, samples, names, self._threads(), self._report(callback), training=training)

    def predict(self, X: SamplesLike) -> npt.NDArray[np.int64]:
        """Classify samples as inliers or outliers by the cutoffs of new rows; :meth:`fit_predict` has those of the fit.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit.

        Returns
        -------
        ndarray of shape (samples,)
            1 for an inlier (both distances within their cutoffs), -1 for an outlier. See :meth:`diagnose`.
        """
        return np.where(self.diagnose(X).is_regular, 1, -1)

    def score_samples(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Scores of samples as inliers: minus the larger ratio of a distance to its cutoff of new rows.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit.

        Returns
        -------
        ndarray of shape (samples,)
            Outliers have scores below `offset_`, which is -1.
        """
        return -self.diagnose(X).excess

    def decision_function(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Scores relative to the threshold: ``score_samples(X) - offset_``, negative for outliers.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit.
        """
        return self.score_samples(X) - self.offset_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, which the command line reads, too. The file is written atomically.

        Raises ``ValueError`` for a file that the estimator was fitted to (by its path, or as a memory map), also
        through a link; a pickle does not keep these paths.
        It does not contain `n_jobs`, `memory_limit` and `verbose`; a pickle does.
        """
        check_is_fitted(self)
        self._fitted_model().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file of this class, written by :meth:`save` or by the command line."""
        return cls._of_model(_engine.Model.load(os.fspath(path)), path)

    @classmethod
    def _of_model(cls, model: _engine.Model, path: str | os.PathLike[str]) -> Self:
        metadata = json.loads(model.metadata)
        estimator = cls(**cls._parameters_of(metadata, model, os.fspath(path)))
        set_feature_names(estimator, model.feature_names)
        estimator._set_fitted_attributes(model)
        return estimator

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        """The parameters of the estimator that a model was fitted with."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
