"""Classical PCA on the same passes: the yardstick, and for data without outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _parameters as parameters
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from steradian import _engine


class PCA(Subspace):
    """Classical PCA, of data in place and larger than memory.

    The numbers are scikit-learn's. So are the names, but that `n_components` may also be ``"auto"``.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        How many components; the fraction of the total variance that they are to explain, between 0 and 1; or ``"auto"``
        for as many as stand out from noise.
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        Where samples are seen from.
    solver, tol, random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    components_, center_, support_, n_components_, n_passes_, residual_, sine_bound_, converged_
        As in :class:`AngularEmbedding`; `support_` is all samples.
    mean_ : ndarray of shape (n_features_in_,)
        scikit-learn's name of `center_`.
    explained_variance_ : ndarray of shape (n_components_,)
        Eigenvalues of the covariance, with n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Fractions of its trace, the sum of the variances of the features.

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
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _learn(self, model: _engine.Model) -> None:
        super()._learn(model)
        self.mean_ = self.center_

    def _settings(self) -> dict[str, Any]:
        return {
            "method": "pca",
            "n_components": parameters.n_components(self.n_components),
            "center": parameters.center(self.center),
            "solver": parameters.one_of("solver", self.solver, parameters.SOLVERS),
            "tol": parameters.real("tol", self.tol),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        if model.method != "pca":
            msg = f"{path}: this is a model of method {model.method}; use steradian.AngularEmbedding.load"
            raise ValueError(msg)
        stored = metadata["parameters"]
        name = stored["center"].replace("-", "_")
        return {
            "n_components": stored["n_components"],
            "center": model.center if name == "given" else name,
            "solver": stored["solver"],
            "tol": stored["tol"],
            "random_state": metadata["seed"],
        }
