"""PCA and angular embedding by expectation maximisation: no matrix is decomposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian._baseline import Baseline

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian import _engine


class EMPCA(Baseline):
    """EM PCA (Roweis 1998), and the same iteration on the sphere.

    Each step is one pass over the data. A subspace takes about ln(tol) / ln(l2 / l1) steps, where l1 is the last
    eigenvalue inside and l2 the first outside; :class:`PCA` and :class:`AngularEmbedding` find it in fewer passes.

    Parameters
    ----------
    n_components : int, default=2
        How many components.
    on_sphere : bool, default=False
        Iterate on unit directions: the paper's angular embedding without a matrix decomposition (EM-AE).
    center : {"mean", "median", "spatial_median", "none"} or array, default="mean"
        Where samples are seen from.
    tol : float, default=1e-4
        Stop when a step turns the subspace by less than this sine.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    n_iter_ : int
        Steps that were made.
    components_, center_, explained_variance_, n_components_, n_passes_, residual_, sine_bound_, converged_
        As in :class:`PCA`. `converged_` says whether `tol` was reached. `sine_bound_` is 1 where the eigenvalues that
        are left out are too many to tell.

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
