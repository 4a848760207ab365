"""Grassmann averages: components as (trimmed) averages of samples with aligned signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _parameters as parameters
from steradian._baseline import Baseline

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian import _engine


class GrassmannAverage(Baseline):
    """Baseline: the (trimmed) Grassmann average (Hauberg, Feragen and Black 2014).

    The data are copied to memory by columns: float64 data as float64, all others as float32.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, computed one after the other.
    trim : float, default=0.5
        Fraction of samples trimmed at each end of every feature: 0 is the average (GA), 0.5 the median, which the paper
        of the angular embedding and the code of the method's authors call 50 %.
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        The center that is subtracted from each sample.
    tol : float, default=1e-4
        Stop when an iteration changes no coordinate of a component by more than this.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    n_iter_ : int
        Total number of iterations of all components.
    components_, center_, explained_variance_, n_components_, n_passes_, converged_
        As in :class:`AngularEmbedding`. `converged_` is True if every component reached `tol`.
    residual_, sine_bound_ : float
        NaN: averages are not eigenvectors.

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
