"""PCA and angular embedding by expectation maximization (orthogonal iteration)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian._baseline import Baseline

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian import _engine


class EMPCA(Baseline):
    """Baseline: PCA by EM (Roweis 1998), and angular embedding by EM.

    Each iteration is one pass over the data. The number of iterations is about ln(tol) / ln(l2 / l1), where l1 is the
    last eigenvalue of the subspace and l2 the next one; :class:`PCA` and :class:`AngularEmbedding` need fewer passes.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    on_sphere : bool, default=False
        Iterate on unit directions: angular embedding without a matrix decomposition (EM-AE).
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        The center that is subtracted from each sample.
    tol : float, default=1e-4
        Stop when an iteration rotates the subspace by less than this sine.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations.
    components_, center_, explained_variance_, n_components_, n_passes_, residual_, sine_bound_, converged_
        As in :class:`PCA`. `converged_` is True if `tol` was reached. `sine_bound_` is 1 if the remaining eigenvalues
        give no bound.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import EMPCA
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [-2.0, -4.1]])
    >>> EMPCA(1).fit(X).components_.round(2)
    array([[0.44, 0.9 ]])
    """

    _METHODS: ClassVar[tuple[str, ...]] = ("empca", "emae")

    def __init__(
        self,
        n_components: int = 2,
        *,
        on_sphere: bool = False,
        center: str | npt.ArrayLike = "mean",
        tol: float = 1e-4,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.on_sphere = on_sphere
        self.center = center
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _method(self) -> str:
        return "emae" if self.on_sphere else "empca"

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        found = super()._parameters_of(metadata, model, path)
        return {**found, "on_sphere": model.method == "emae"}
