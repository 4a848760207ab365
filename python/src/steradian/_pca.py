"""Classical PCA, for data without outliers and for comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _parameters as parameters
from steradian._selection import MISSING
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from steradian import _engine


class PCA(Subspace):
    """Classical PCA of data in place, also of data larger than memory.

    Parameters, attributes and numbers are scikit-learn's; `n_components` may also be ``"auto"``.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of components; or a fraction of the total variance to explain (0 < x < 1); or ``"auto"`` (parallel
        analysis). The last two consider at most 30 components.
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        The center that is subtracted from each sample.
    tol : float, default=1e-6
        Largest accepted `sine_bound_`.
    missing : {"error", "use", "drop"}, default="error"
        Treatment of missing cells: raise an error, as scikit-learn does; least squares on the cells that are present;
        or leave their rows out of the fit.
    solver, random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    components_, center_, support_, n_components_, n_passes_, residual_, sine_bound_, converged_
        As in :class:`AngularEmbedding`; `support_` is True for all samples.
    mean_ : ndarray of shape (n_features_in_,)
        scikit-learn's name of `center_`.
    explained_variance_ : ndarray of shape (n_components_,)
        Eigenvalues of the covariance matrix (divisor n - 1).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Eigenvalues divided by the trace of the covariance matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import PCA
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [-2.0, -4.1]])
    >>> PCA(1).fit(X).components_.round(2)
    array([[0.44, 0.9 ]])
    """

    _ON_CLUSTERS: ClassVar[bool] = True

    mean_: npt.NDArray[np.float64]

    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        center: str | npt.ArrayLike = "mean",
        solver: str = "auto",
        tol: float = 1e-6,
        missing: str = "error",
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.solver = solver
        self.tol = tol
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _set_fitted_attributes(self, model: _engine.Model) -> None:
        super()._set_fitted_attributes(model)
        self.mean_ = self.center_

    def _settings(self) -> dict[str, Any]:
        return {
            "method": "pca",
            "n_components": parameters.n_components(self.n_components),
            "center": parameters.center(self.center),
            "solver": parameters.one_of("solver", self.solver, parameters.SOLVERS),
            "tol": parameters.real("tol", self.tol),
            # Dropped rows are left out before the fit.
            "missing": "error" if self._missing() == "error" else "use",
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _missing(self) -> str:
        missing: str = parameters.one_of("missing", self.missing, MISSING)
        return missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing in ("use", "drop")
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
            "tol": stored["tol"],
            "missing": stored.get("missing", "error"),
            "random_state": metadata["seed"],
        }
