"""Grassmann averages: components as trimmed averages of samples turned towards them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _parameters as parameters
from steradian._baseline import Baseline

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian import _engine


class GrassmannAverage(Baseline):
    """The (trimmed) Grassmann average (Hauberg, Feragen and Black 2014).

    The data are held by columns in memory, in single precision unless they are double.

    Parameters
    ----------
    n_components : int, default=2
        How many components, found one after the other.
    trim : float, default=0.5
        The share of samples left out at each end of every feature: 0 averages all (GA), 0.5 leaves the median, which is
        what 50 % means in the paper of the angular embedding and in the code of the method's authors.
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        Where samples are seen from.
    tol : float, default=1e-4
        Stop when a step moves no coordinate of a component by this much.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    n_iter_ : int
        Steps that were made, for all components together.
    components_, center_, explained_variance_, n_components_, n_passes_, converged_
        As in :class:`AngularEmbedding`. `converged_` says whether every component reached `tol`.
    residual_, sine_bound_ : float
        Not a number: averages are no eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import GrassmannAverage
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [-2.0, -4.1], [0.5, 1.0]])
    >>> GrassmannAverage(1, center="none").fit(X).components_.round(2)
    array([[0.45, 0.89]])
    """

    _METHODS: ClassVar[tuple[str, ...]] = ("tga", "ga")

    def __init__(
        self,
        n_components: int = 2,
        *,
        trim: float = 0.5,
        center: str | npt.ArrayLike = "mean",
        tol: float = 1e-4,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.trim = trim
        self.center = center
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _method(self) -> str:
        return "tga" if self.trim else "ga"

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "trim": parameters.real("trim", self.trim)}

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        found = super()._parameters_of(metadata, model, path)
        return {**found, "trim": metadata["parameters"]["trim"]}
