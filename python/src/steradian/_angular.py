"""The robust estimator: angular embedding and its robust, cellwise and trimmed forms, by presets."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _engine
from steradian import _parameters as parameters
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian._data import SamplesLike

METHODS = ("robust", "cells", "angular", "ae", "tae", "pca")
SCREENS = (None, "none", "cone", "outlyingness")
LOSSES = (None, "sine", "squared_cosine")
SCALINGS = ("none", "mad")
CELLS = {"always": "clean", "never": "keep"}
"""Values of `cells` and their names in model files."""
_FORMER_CELLS = {"clean": "always", "keep": "never"}

_CONE_DEFAULTS = {"max_angle": 60.0, "cosine": "abs", "ties": "index", "recenter": False, "exact": False}
"""Parameters of the cone and their defaults; another value requires a cone."""

_NOT_OF_PCA = ("screen", "loss", "cells")
"""Parameters that classical PCA does not have."""


class AngularEmbedding(Subspace):
    """Robust PCA: a subspace that outlying samples and, on request, outlying cells do not distort.

    Samples are centered at a robust center and reduced to their directions, so that no sample has a larger influence
    than any other. `method` selects a preset of center, screen and loss; parameters that are not None override it:

    - ``"robust"``: Stahel-Donoho screening, spatial median, then IRLS on the sum of sines (spherical fast median
      subspace). Breakdown point close to 50 %.
    - ``"cells"``: ``"robust"`` plus detection and imputation of cellwise outliers (wrapping start).
    - ``"angular"``: spherical PCA: eigenvectors of the spatial sign covariance matrix about the spatial median
      (Locantore et al. 1999).
    - ``"ae"``: angular embedding (Liu and Yu 2021): spherical PCA about the mean.
    - ``"tae"``: trimmed angular embedding (Liu and Yu 2021): ``"ae"`` restricted to the samples in one cone.
    - ``"pca"``: classical PCA, as in :class:`PCA`.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of components; or a fraction of the robust variance to explain (0 < x < 1); or ``"auto"`` (parallel
        analysis). The last two consider at most 30 components.
    method : {"robust", "cells", "angular", "ae", "tae", "pca"}, default="robust"
        The preset. A parameter that the method does not have is rejected by :meth:`fit`.
    center : {"spatial_median", "mean", "median", "none"}, array of shape (n_features,) or None, default=None
        The center that is subtracted from each sample. None: ``"spatial_median"`` (also called geometric median or
        L1-median) for robust, cells and angular; ``"mean"`` for ae, tae and pca.
    scaling : {"none", "mad"}, default="none"
        ``"mad"`` divides each feature by its median absolute deviation, for features in different units.
    screen : {"outlyingness", "cone", "none"} or None, default=None
        The rule that selects the samples of the decomposition: those with a small outlyingness (Stahel-Donoho), those
        in one cone, or all. None: ``"outlyingness"`` for robust and cells, ``"cone"`` for tae, ``"none"`` for the
        others.
    max_angle : float or "auto", default=60.0
        Half-angle of the cone, in degrees, above 0 and at most 90; ``"auto"``: the smallest cone that contains half of
        the samples. This and the next four parameters require a cone.
    cosine : {"abs", "signed"}, default="abs"
        ``"abs"`` treats a direction and its opposite as equal.
    ties : {"index", "density"}, default="index"
        Tie-breaking rule for the pivot: lowest index, or largest sum of squared cosines.
    recenter : bool, default=False
        Use the mean of the support as the center of the decomposition.
    exact : bool, default=False
        Find the pivot by an exact count over all pairs of samples, O(n^2 D). By default large problems, and fits on a
        cluster, use successive elimination: the pivot is the same with a probability of at least 1 - 1e-6, and `tau_`
        contains estimates for eliminated samples.
    n_directions : int or None, default=None
        Number of projection directions of the outlyingness screen. None: 250.
    cells : {"always", "never"} or None, default=None
        ``"always"`` replaces cellwise outliers by their expected values. None: ``"always"`` for cells, ``"never"`` for
        the others.
    loss : {"sine", "squared_cosine"} or None, default=None
        The objective: the sum of sines of the angles to the subspace, or minus the sum of squared cosines. None:
        ``"sine"`` for robust and cells, ``"squared_cosine"`` for the others.
    robust_scores : bool or None, default=None
        Make robust scores the default of :meth:`transform` for this model. None: False.
    solver : {"auto", "scatter", "gram", "krylov"}, default="auto"
        The eigensolver: on the scatter matrix (D x D), on the Gram matrix (n x n), or block Krylov without either
        matrix. ``"auto"`` is the cheapest by the cost model of the plan.
    tol : float or None, default=None
        Largest accepted `sine_bound_`. None: 1e-6.
    random_state : int, RandomState or None, default=0
        Seed of all random numbers.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory limit of the fit in bytes, or a string such as ``"512M"``; a fit that needs more fails before it starts.
    verbose : bool, default=False
        Print the progress of passes on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Orthonormal rows, in order of decreasing angular eigenvalues. The entry of largest magnitude of each row is
        positive.
    center_ : ndarray of shape (n_features_in_,)
        The center that is subtracted from samples.
    angular_eigenvalues_ : ndarray of shape (n_components_,) or None
        Eigenvalues of the spatial sign covariance matrix of the support: mean squared cosines to each component. They
        sum to at most 1 and are not variances. None for ``method="pca"``.
    explained_variance_ : ndarray of shape (n_components_,)
        Squared robust scale of the scores.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Fractions of the total robust variance, which is the sum of `explained_variance_` and the robust mean of squared
        orthogonal distances of the support. They sum to at most 1.
    support_ : ndarray of bool, of shape (n_samples,)
        Mask of the samples used in the final decomposition.
    n_components_ : int
        Number of components.
    n_components_reason_ : str or None
        Reason for the number of components; None if it was given.
    pivot_, tau_, max_angle_ : int, ndarray of shape (n_samples,), float; or None
        The pivot of the cone, the number of samples outside the cone around each sample, and the half-angle in degrees.
        `tau_` is exact for all candidates of the pivot; see `exact`. None without a cone.
    scale_ : ndarray of shape (n_features_in_,) or None
        Divisors of the features; None without scaling.
    cleaned_fraction_ : float or None
        Fraction of cells that were cleaned; None if cells were not cleaned.
    n_passes_ : int
        Number of passes over the data during the fit.
    residual_, sine_bound_, converged_ : float, float, bool
        The certificate of the last eigenproblem: relative residual; upper bound on the sine of the largest principal
        angle to the exact subspace; True if the bound is at most `tol`.
    n_features_in_, feature_names_in_ : int, ndarray of str
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import AngularEmbedding
    >>> X = np.random.default_rng(0).standard_normal((100, 3)) * [9, 1, 0.1]
    >>> X[:20] += [0, 0, 50]
    >>> model = AngularEmbedding(1).fit(X)
    >>> bool(model.components_[0, 0] > 0.99)
    True
    >>> bool(model.support_[:20].any())
    False
    """

    _ON_CLUSTERS: ClassVar[bool] = True

    angular_eigenvalues_: npt.NDArray[np.float64] | None
    pivot_: int | None
    tau_: npt.NDArray[np.int64] | None
    max_angle_: float | None
    scale_: npt.NDArray[np.float64] | None
    cleaned_fraction_: float | None
    n_components_reason_: str | None

    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        method: str = "robust",
        center: str | npt.ArrayLike | None = None,
        scaling: str = "none",
        screen: str | None = None,
        max_angle: float | str = 60.0,
        cosine: str = "abs",
        ties: str = "index",
        recenter: bool = False,
        exact: bool = False,
        n_directions: int | None = None,
        cells: str | None = None,
        loss: str | None = None,
        robust_scores: bool | None = None,
        solver: str = "auto",
        tol: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.center = center
        self.scaling = scaling
        self.screen = screen
        self.max_angle = max_angle
        self.cosine = cosine
        self.ties = ties
        self.recenter = recenter
        self.exact = exact
        self.n_directions = n_directions
        self.cells = cells
        self.loss = loss
        self.robust_scores = robust_scores
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    @classmethod
    def paper(cls, n_components: int, max_angle: float | str | None = None) -> Self:
        """Create the estimator of Liu and Yu (2021): AE, or TAE when an angle is given.

        Parameters
        ----------
        n_components : int
            Number of components.
        max_angle : float or "auto", optional
            Half-angle of TAE's cone, in degrees.
        """
        if max_angle is None:
            return cls(n_components, method="ae")
        return cls(n_components, method="tae", max_angle=max_angle)

    def _settings(self) -> dict[str, Any]:
        preset = _preset(parameters.one_of("method", self.method, METHODS))
        given: dict[str, Any] = {
            "center": None if self.center is None else parameters.center(self.center),
            "screen": parameters.one_of("screen", self.screen, SCREENS),
            "n_directions": None if self.n_directions is None else parameters.count("n_directions", self.n_directions),
            "cells": CELLS.get(parameters.one_of("cells", self._cells(), (None, *CELLS))),
            "loss": parameters.one_of("loss", self.loss, LOSSES),
            "robust_scores": parameters.optional_bool("robust_scores", self.robust_scores),
            "tol": None if self.tol is None else parameters.real("tol", self.tol),
        }
        overridden: dict[str, Any] = {
            name: preset.get(name) if value is None else value for name, value in given.items()
        }
        cone = {
            "max_angle": parameters.angle(self.max_angle),
            "cosine": parameters.one_of("cosine", self.cosine, parameters.COSINES),
            "ties": parameters.one_of("ties", self.ties, parameters.TIES),
            "recenter": bool(self.recenter),
            "exact": bool(self.exact),
        }
        self._require_applicable(overridden["screen"], overridden["cells"], cone)
        return {
            "method": self.method,
            "n_components": parameters.n_components(self.n_components),
            **overridden,
            **cone,
            "scaling": parameters.one_of("scaling", self.scaling, SCALINGS),
            "solver": parameters.one_of("solver", self.solver, parameters.SOLVERS),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _cells(self) -> str | None:
        """The parameter `cells`, former spellings replaced."""
        return _FORMER_CELLS.get(self.cells, self.cells) if isinstance(self.cells, str) else self.cells

    def _require_applicable(self, screen: str, cells: str, cone: dict[str, Any]) -> None:
        """Reject parameters that the method, with its screen, does not have."""
        if self.method == "pca":
            for name in _NOT_OF_PCA:
                if getattr(self, name) is not None:
                    msg = f"{name} = {getattr(self, name)!r} is not supported by method = 'pca'; leave it at None"
                    raise ValueError(msg)
        where = f"method = {self.method!r}" + (f" with screen = {screen!r}" if self.screen is not None else "")
        for name, default in _CONE_DEFAULTS.items():
            if screen != "cone" and cone[name] != default:
                msg = f"{name} = {cone[name]!r} requires a cone, which {where} does not have; use method='tae'"
                raise ValueError(msg)
        if screen == "cone" and cells == "clean":
            msg = f"cleaning of cells is not supported with a cone, which {where} has; use cells='never'"
            raise ValueError(msg)
        if screen != "outlyingness" and self.n_directions is not None:
            msg = (
                f"n_directions = {self.n_directions!r} requires the outlyingness screen, which {where} does not have; "
                "use method='robust'"
            )
            raise ValueError(msg)

    def _set_fitted_attributes(self, model: _engine.Model) -> None:
        super()._set_fitted_attributes(model)
        self.angular_eigenvalues_ = model.angular_eigenvalues
        self.pivot_ = model.pivot
        self.tau_ = model.tau
        self.max_angle_ = model.max_angle
        self.scale_ = model.scale
        self.cleaned_fraction_ = model.cleaned_fraction
        self.n_components_reason_ = model.n_components_reason

    def cone_angles(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Angles of the samples of the fit to the pivot of the cone, in degrees; NaN at the center.

        Parameters
        ----------
        X : see :meth:`fit`
            The data of the fit, which contain the pivot: the model does not store it. :class:`ConeScreen` does.
        """
        samples = self._samples(X)
        return self._model.cone_angles(samples, threads=self._threads())

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        if model.method not in METHODS:
            msg = f"{path}: this is a model of method {model.method}; use steradian.load"
            raise ValueError(msg)
        stored = metadata["parameters"]
        preset = _preset(model.method)
        found: dict[str, Any] = {
            "method": model.method,
            "n_components": stored["n_components"],
            "random_state": metadata["seed"],
            **{name: stored[name] for name in ("scaling", "solver")},
        }
        if stored["center"] != preset["center"]:
            found["center"] = parameters.stored_center(stored["center"], model)
        for name in ("screen", "cells", "loss", "tol", "robust_scores", "n_directions"):
            if name in stored and stored[name] != preset.get(name):
                found[name] = stored[name]
        if "cells" in found:
            found["cells"] = _FORMER_CELLS[found["cells"]]
        if stored["screen"] == "cone":
            found["max_angle"] = "auto" if stored["max_angle_auto"] else stored["max_angle"]
            found.update({name: stored[name] for name in ("cosine", "ties", "recenter")})
            found["exact"] = stored["pivot_search"] == "exact"
        return found


@cache
def _preset(method: str) -> dict[str, Any]:
    """The parameters of a method's preset, by the names of model files."""
    preset: dict[str, Any] = json.loads(_engine.preset(method))
    return preset
