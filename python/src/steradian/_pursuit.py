"""Principal component pursuit: the decomposition of the data into a low-rank and a sparse part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from steradian import _engine
from steradian._baseline import Baseline

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian._progress import EngineCallback


class PrincipalComponentPursuit(Baseline):
    """Baseline: robust PCA in the low-rank + sparse sense (Candes et al. 2011), by inexact ALM (Lin, Chen and Ma 2010).

    Splits the centered data into a low-rank and a sparse part, with lambda = 1 / sqrt(max(n_samples, n_features)).
    Needs memory for four float64 arrays of the size of the data; see `memory_limit`.

    Parameters
    ----------
    n_components : int, default=2
        Number of components of the low-rank part; fewer, with a warning, if its rank is lower.
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        The center that is subtracted from each sample; it belongs to the low-rank part.
    tol : float, default=1e-7
        Stop at this relative residual.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        The two parts: float64 for float64 data, else float32. Absent from a model that was loaded from a file.
    n_iter_ : int
        Number of iterations.
    residual_ : float
        Norm of the data minus both parts, relative to the norm of the centered data.
    components_, center_, explained_variance_, n_components_, n_passes_, converged_
        As in :class:`AngularEmbedding`. `converged_` is True if `tol` was reached.
    sine_bound_ : float
        NaN: the subspace has no such bound.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import PrincipalComponentPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.standard_normal(40), rng.standard_normal(30))
    >>> X[3, 4] += 100
    >>> split = PrincipalComponentPursuit(1, center="none").fit(X)
    >>> float(split.sparse_[3, 4].round(1)), float(np.abs(split.sparse_[5]).max().round(3))
    (100.0, 0.0)
    """

    _METHODS: ClassVar[tuple[str, ...]] = ("pcp",)
    _FITTED: ClassVar[tuple[str, ...]] = ("_model", "_rows", "_n_rows", "_parts")

    low_rank_: npt.NDArray[np.floating[Any]]
    sparse_: npt.NDArray[np.floating[Any]]

    def __init__(
        self,
        n_components: int = 2,
        *,
        center: str | npt.ArrayLike = "mean",
        tol: float = 1e-7,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _run(
        self, samples: _engine.Samples, settings: dict[str, Any], callback: EngineCallback | None
    ) -> _engine.Model:
        model, *self._parts = _engine.principal_component_pursuit(
            samples, settings, threads=self._threads(), callback=callback
        )
        return model

    def _set_fitted_attributes(self, model: _engine.Model) -> None:
        super()._set_fitted_attributes(model)
        if hasattr(self, "_parts"):
            self.low_rank_, self.sparse_ = self._parts
            del self._parts

    def _place_in_rows(self) -> None:
        super()._place_in_rows()
        self.low_rank_, self.sparse_ = (self._in_rows(part, np.nan) for part in (self.low_rank_, self.sparse_))
