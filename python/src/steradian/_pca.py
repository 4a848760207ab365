"""Classical PCA, for data without outliers and for comparisons."""

from __future__ import annotations

import re
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from steradian import _component_count as component_count
from steradian import _decomposition as decomposition
from steradian import _engine
from steradian import _parameters as parameters
from steradian._data import read
from steradian._decomposition import Decomposition, SparseRows, is_sparse
from steradian._distributed import adapter
from steradian._gaussian import GaussianModel, deviations
from steradian._selection import MISSING
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from steradian._data import SamplesLike
    from steradian._progress import EngineCallback

_EXACT = ("full", "covariance_eigh", "arpack")
"""The solvers of scikit-learn whose numbers are exact up to rounding."""

_TOL, _EXACT_TOL = 1e-6, 1e-10
"""Tolerances in place of 0; the second one is that of `_EXACT`."""

_DENSE_ONLY = ("full", "randomized")
"""The solvers of scikit-learn that reject sparse data."""

_BYTES_PER_CELL = 32
"""Memory of a decomposition in memory: the rows, the centered rows, and their singular vectors on both sides."""

_FEW_SAMPLES = 100
"""The number of samples up to which the engine finds all components quickly, whatever the number of features."""

_BLOCK_CELLS = 2**22
"""The number of cells of the rows whose likelihoods are computed at a time."""

_TIE = 1e-12
"""The relative difference of a fraction of the variance and the requested one that may be rounding."""


class PCA(GaussianModel, Subspace):
    """Classical PCA of data in place, also of data larger than memory.

    A replacement of `sklearn.decomposition.PCA`: parameters, attributes, methods and numbers are scikit-learn's. The
    parameters from `center` on are additional.

    Parameters
    ----------
    n_components : int, float, "mle", "auto" or None, default=None
        Number of components; or a fraction of the total variance to explain (0 < x < 1); or ``"mle"`` (Minka's
        evidence); or ``"auto"`` (parallel analysis, at most 30 components); or None for as many as there can be:
        min(n_samples, n_features), one less with ``svd_solver="arpack"``.
    copy : bool, default=True
        Ignored: data are never modified.
    whiten : bool, default=False
        Divide scores by the square roots of `explained_variance_`.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        The numbers of components that are valid are those of this solver of scikit-learn, and numbers of ``"full"``,
        ``"covariance_eigh"`` and ``"arpack"`` have a `sine_bound_` of at most 1e-10. `solver` chooses the algorithm.
        Sparse data need ``"auto"``, ``"arpack"`` or ``"covariance_eigh"``.
    tol : float, default=0.0
        Largest accepted `sine_bound_`; 0 for the default, which is 1e-6, or 1e-10 as by `svd_solver`.
    iterated_power, n_oversamples, power_iteration_normalizer : default="auto", 10, "auto"
        Ignored: no solver is randomized without a bound on its error.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors of the iterations; None for the seed 0, so that equal fits have equal numbers.
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        The center that is subtracted from each sample.
    solver : {"auto", "scatter", "gram", "krylov"}, default="auto"
        As in :class:`AngularEmbedding`.
    missing : {"error", "use", "drop"}, default="error"
        Treatment of missing cells: raise an error, as scikit-learn does; least squares on the cells that are present;
        or leave their rows out of the fit.
    n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    components_, center_, support_, n_components_, n_passes_, residual_, sine_bound_, converged_
        As in :class:`AngularEmbedding`; `support_` is True for all samples. `components_` is float32 for float32 data.
    mean_ : ndarray of shape (n_features_in_,)
        scikit-learn's name of `center_`, of the dtype of `components_`.
    explained_variance_ : ndarray of shape (n_components_,)
        Eigenvalues of the covariance matrix (divisor n - 1).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Eigenvalues divided by the trace of the covariance matrix.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the centered samples.
    noise_variance_ : float
        Mean of the eigenvalues, min(n_samples, n_features) in number, that belong to no component; 0 without any.
    n_samples_ : int
        Number of samples of the fit.

    Notes
    -----
    Components beyond the rank of the data have variance 0. Scores have them; distances, predictions and model files
    have the components up to the rank only.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import PCA
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [-2.0, -4.1]])
    >>> PCA(1).fit(X).components_.round(2)
    array([[0.44, 0.9 ]])
    """

    _ON_CLUSTERS: ClassVar[bool] = True
    _FITTED: ClassVar[tuple[str, ...]] = (*Subspace._FITTED, "_total_variance", "_fit_svd_solver", "_single")

    _model: _engine.Model | None  # type: ignore[assignment]
    """None for sparse data, for no components, and for most of the components of a large table with few samples."""

    _single: bool = False
    """True for components of single precision."""

    _fit_svd_solver: str
    _total_variance: float | None

    singular_values_: npt.NDArray[np.float64]
    noise_variance_: float
    n_samples_: int

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        center: str | npt.ArrayLike = "mean",
        solver: str = "auto",
        missing: str = "error",
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.center = center
        self.solver = solver
        self.missing = missing
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _settings(self) -> dict[str, Any]:
        parameters.flag("copy", self.copy)
        parameters.flag("whiten", self.whiten)
        if isinstance(self.iterated_power, Integral):
            parameters.count("iterated_power", self.iterated_power, 0)
        else:
            parameters.one_of("iterated_power", self.iterated_power, ("auto",), "or an integer >= 0")
        parameters.count("n_oversamples", self.n_oversamples)
        parameters.one_of("power_iteration_normalizer", self.power_iteration_normalizer, ("auto", "QR", "LU", "none"))
        parameters.one_of("svd_solver", self.svd_solver, component_count.SVD_SOLVERS)
        tol = parameters.real("tol", self.tol)
        if tol == 0:
            tol = _EXACT_TOL if self.svd_solver in _EXACT else _TOL
        return {
            "method": "pca",
            "n_components": component_count.checked(self.n_components),
            "center": parameters.center(self.center),
            "solver": parameters.one_of("solver", self.solver, parameters.SOLVERS),
            "tol": tol,
            # Dropped rows are left out before the fit.
            "missing": "error" if self._missing() == "error" else "use",
            "seed": 0 if self.random_state is None else parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _missing(self) -> str:
        missing: str = parameters.one_of("missing", self.missing, MISSING)
        return missing

    def _of_fit(self, X: SamplesLike, missing_mask: Any, exclude: Any, report: EngineCallback | None) -> Any:
        if is_sparse(X):
            return self._sparse_rows(X, missing_mask, exclude)
        samples = super()._of_fit(X, missing_mask, exclude, report)
        # Integers of few bits are read in single precision, but are no float32 data.
        self._single = samples.dtype == "float32" and getattr(X, "dtype", np.float32) == np.float32
        return samples

    def _sparse_rows(self, X: Any, missing_mask: Any, exclude: Any) -> SparseRows:
        if self.svd_solver in _DENSE_ONLY:
            msg = (
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while '
                f'"{self.svd_solver}" was passed; use svd_solver="auto", or X.toarray() if it fits into memory'
            )
            raise TypeError(msg)
        given = {
            "missing_mask": missing_mask is not None,
            "exclude": exclude is not None,
            "center": not (isinstance(self.center, str) and self.center == "mean"),
            "missing": self.missing != "error",
        }
        for name, is_given in given.items():
            if is_given:
                msg = (
                    f"{name} is not supported for sparse data; leave it out, or use X.toarray() if it fits into memory"
                )
                raise TypeError(msg)
        self._rows = None
        matrix = validate_data(
            self, X, dtype=[np.float64, np.float32], accept_sparse=("csr", "csc"), ensure_min_samples=2
        )
        self._single = matrix.dtype == np.float32
        return SparseRows(matrix)

    def _run(self, samples: Any, settings: dict[str, Any], callback: EngineCallback | None) -> Decomposition:
        count, shape = settings["n_components"], samples.shape
        if isinstance(samples, SparseRows) and self.svd_solver == "auto":
            solver = "arpack"
        else:
            solver = component_count.scikit_learns_solver(self.svd_solver, shape, count)
        request = component_count.requested(count, shape, solver)
        self._fit_svd_solver = solver
        is_in_memory = isinstance(samples, SparseRows) or self._is_table(samples, settings)
        # The rank of n centered samples is at most n - 1. In memory, further components can be added.
        most = min(shape) if is_in_memory else min(shape[0] - 1, shape[1])
        if count is None and isinstance(request, int):
            request = min(request, most)
        if request == "auto":
            if isinstance(samples, SparseRows):
                msg = "n_components='auto' is not supported for sparse data; pass a number"
                raise TypeError(msg)
            return decomposition.of_model(super()._run(samples, settings, callback))

        def fit(count: int | float) -> Decomposition:
            if isinstance(samples, SparseRows):
                return decomposition.of_sparse(samples, int(count), solver, self.tol, settings["seed"])
            return self._of_samples(samples, {**settings, "n_components": count}, callback)

        if isinstance(request, int):
            return fit(request)
        if isinstance(request, float) and not isinstance(samples, SparseRows):
            found = fit(request)
            # The engine tries a limited number of components. A tie is decided by the numbers of a fit of all of them,
            # from which users compute fractions.
            total = found.total_variance
            if not is_in_memory or total is None or np.sum(found.variances) > request * total * (1 + _TIE):
                return found
        whole = fit(most)
        if isinstance(request, float):
            chosen = component_count.of_fraction(request, whole.variances, whole.total_variance or 0.0)
        else:
            chosen = component_count.of_evidence(whole.variances, shape[0])
        return whole if chosen == len(whole.variances) else fit(chosen)

    def _of_samples(self, samples: Any, settings: dict[str, Any], callback: EngineCallback | None) -> Decomposition:
        """The numbers of samples by the engine, or by a decomposition in memory if it has too many components."""
        count = settings["n_components"]
        shape, is_table = samples.shape, self._is_table(samples, settings)
        if count == 0:
            # One component gives the mean and the total variance.
            found = self._of_samples(samples, {**settings, "n_components": 1}, callback).first(0)
            return Decomposition(
                found.components, found.variances, found.mean, found.total_variance, found.n_samples, None
            )
        if 2 * count > shape[0] > _FEW_SAMPLES and shape[1] >= shape[0] and settings["solver"] == "auto":
            # The certificate of so many eigenvectors of the Gram matrix takes far longer than the fit.
            if shape[1] <= decomposition.LARGEST_COVARIANCE:
                settings = {**settings, "solver": "scatter"}
            elif is_table:
                return decomposition.of_rows(samples.take(range(shape[0])), count, None)
        try:
            most = shape[0] - 1 if is_table else count
            attempt = {**settings, "n_components": min(count, most)}
            model = super()._run(samples, attempt, callback)
        except ValueError as error:
            rank = re.search(r"exceeds the rank (\d+) of the centered data", str(error))
            if rank is None or rank[1] == "0" or not is_table:
                raise
            model = super()._run(samples, {**settings, "n_components": int(rank[1])}, callback)
        if len(model.components) >= count or isinstance(count, float):
            return decomposition.of_model(model)
        return decomposition.of_rows(samples.take(range(shape[0])), count, model)

    def _is_table(self, samples: Any, settings: dict[str, Any]) -> bool:
        """True for samples that can be decomposed in memory, without missing cells."""
        if not isinstance(samples, _engine.Samples) or settings["center"] != "mean" or self._missing() == "use":
            return False
        cells, limit = samples.shape[0] * samples.shape[1], settings["memory_limit"]
        return cells <= decomposition.LARGEST_TABLE and (limit is None or cells * _BYTES_PER_CELL <= limit)

    def _set_fitted_attributes(self, model: Any) -> None:
        found = decomposition.of_model(model) if isinstance(model, _engine.Model) else model
        if found.model is None:
            self._model = None
            self.n_features_in_ = found.n_features
            self.center_ = found.mean
            self.support_ = np.ones(found.n_samples, dtype=bool)
            self.n_passes_, self.residual_, self.sine_bound_, self.converged_ = 1, 0.0, 0.0, True
            self.offset_ = -1.0
        else:
            super()._set_fitted_attributes(found.model)
        dtype = np.float32 if self._single else np.float64
        count, most = len(found.variances), min(found.n_samples, found.n_features)
        self.components_ = found.components.astype(dtype, copy=False)
        self.mean_ = self.center_.astype(dtype, copy=False)
        self.n_components_ = count
        self.n_samples_ = found.n_samples
        self.explained_variance_ = found.variances
        self.singular_values_ = np.sqrt(np.maximum(found.variances, 0) * (found.n_samples - 1))
        self._total_variance = found.total_variance
        self.noise_variance_ = 0.0
        if count < most:
            rest = np.nan if found.total_variance is None else found.total_variance - float(np.sum(found.variances))
            self.noise_variance_ = float(np.maximum(rest, 0.0)) / (most - count)

    def _fitted_model(self) -> _engine.Model:
        if self._model is None:
            n_features, many = len(self.mean_), 2 * self.n_components_ > self.n_samples_ > _FEW_SAMPLES
            if many and n_features > decomposition.LARGEST_COVARIANCE:
                why = f"{self.n_components_} components of {self.n_samples_} samples of {n_features} features"
                remedy = f"at most {self.n_samples_ // 2} components"
            else:
                why = "no components" if self.n_components_ == 0 else "sparse data"
                remedy = "at least 1 component"
            msg = f"a fit with {why} has only scores and a likelihood; fit dense data with {remedy}"
            raise ValueError(msg)
        return self._model

    def _is_of_model(self) -> bool:
        """True if the components are those of the model."""
        return self._model is not None and len(self._model.components) == self.n_components_

    def _transformed(self, X: SamplesLike, robust_scores: bool | None, missing_mask: Any = None) -> Any:
        check_is_fitted(self)
        if is_sparse(X):
            rows = validate_data(self, X, dtype=[np.float64, np.float32], accept_sparse=("csr", "csc"), reset=False)
            return self._whitened(rows @ self.components_.T - self.mean_ @ self.components_.T)
        if self._is_of_model():
            return self._whitened(super()._transformed(X, robust_scores, missing_mask))
        if robust_scores or adapter(X) is not None:
            what = "robust scores" if robust_scores else "data on a cluster"
            rank = 0 if self._model is None else len(self._model.components)
            msg = f"{what} need a model with all {self.n_components_} components; it has {rank}: fit with as many"
            raise ValueError(msg)
        samples = self._samples(X, missing_mask)
        rows = samples.take(range(samples.shape[0]))
        scores = (rows - self.center_) @ np.asarray(self.components_, dtype=np.float64).T
        return self._whitened(scores.astype(np.float32) if rows.dtype == np.float32 else scores)

    def _whitened(self, scores: Any) -> Any:
        if not self.whiten:
            return scores
        if isinstance(scores, list):
            return [self._whitened(part) for part in scores]
        if not hasattr(scores, "__truediv__"):
            msg = (
                f"whiten=True is not supported for {type(scores).__name__}; use whiten=False, and divide the scores by "
                "explained_variance_ ** 0.5"
            )
            raise TypeError(msg)
        return scores / deviations(self.explained_variance_).astype(getattr(scores, "dtype", np.float64))

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
        if self._is_of_model() and not self.whiten:
            return super().inverse_transform(X)
        samples = read(X, reader=type(self).__name__, minimum=0)
        if samples.shape[1] != self.n_components_:
            msg = f"X has {samples.shape[1]} scores per sample, but {self.n_components_} components were fitted"
            raise ValueError(msg)
        scores = samples.take(range(samples.shape[0]))
        factors = deviations(self.explained_variance_) if self.whiten else 1.0
        rows = (scores * factors) @ np.asarray(self.components_, dtype=np.float64) + self.center_
        return rows.astype(np.float32) if scores.dtype == np.float32 else rows

    @property
    def explained_variance_ratio_(self) -> npt.NDArray[np.float64]:
        """Fractions of the total variance along the components, each in [0, 1], with a sum of at most 1.

        The total is the sum of the variances of the features (divisor n - 1).
        """
        check_is_fitted(self)
        total = self._total_variance
        if total is None:
            msg = "the model file of an older version has no total variance; fit again"
            raise AttributeError(msg)
        return self.explained_variance_ / total if total > 0 else np.zeros_like(self.explained_variance_)

    def score_samples(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Log-likelihoods of samples under the Gaussian model of :meth:`get_covariance`, as in scikit-learn.

        :meth:`decision_function` and :meth:`predict` have distances to the subspace instead, as in all estimators.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit, without missing cells.

        Returns
        -------
        ndarray of shape (samples,)
        """
        samples = self._samples(X)
        (n_samples, n_features) = samples.shape
        step = max(1, _BLOCK_CELLS // n_features)
        found = [np.empty(0)]
        for start in range(0, n_samples, step):
            rows = samples.take(range(start, min(start + step, n_samples)))
            if np.isnan(rows).any():
                last = start + len(rows) - 1
                msg = f"rows {start} to {last} have missing cells (NaN), which have no likelihood; fill them: impute(X)"
                raise ValueError(msg)
            found.append(self._log_likelihoods(rows))
        return np.concatenate(found)

    def score(self, X: SamplesLike, y: object = None) -> float:  # noqa: ARG002
        """Mean log-likelihood of samples, see :meth:`score_samples`.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit, without missing cells.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def decision_function(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Outlyingness relative to the cutoffs of new rows, negative for outliers.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit.

        Returns
        -------
        ndarray of shape (samples,)
            Minus the larger ratio of a distance to its cutoff, minus `offset_`.
        """
        return -self.diagnose(X).excess - self.offset_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, see :meth:`AngularEmbedding.save`; a pickle keeps `whiten`, a model file does not.

        Raises ``ValueError`` for ``whiten=True``.
        """
        check_is_fitted(self)
        if self.whiten:
            msg = "a model file has no whitening; pickle the estimator, or save it after set_params(whiten=False)"
            raise ValueError(msg)
        super().save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing in ("use", "drop")
        is_mean = isinstance(self.center, str) and self.center == "mean"
        tags.input_tags.sparse = is_mean and self.missing == "error" and self.svd_solver not in _DENSE_ONLY
        return tags

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        if model.method != "pca":
            msg = f"{path}: this is a model of method {model.method}; use steradian.AngularEmbedding.load"
            raise ValueError(msg)
        stored = metadata["parameters"]
        return {
            "n_components": stored["n_components"],
            "center": parameters.stored_center(stored["center"], model),
            "solver": stored["solver"],
            "tol": 0.0 if stored["tol"] == _TOL else stored["tol"],
            "missing": stored.get("missing", "error"),
            "random_state": metadata["seed"] or None,
        }
