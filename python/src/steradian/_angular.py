"""The robust estimator: bad rows, bad cells and missing cells by default; spherical and classical PCA by presets."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from steradian import _engine
from steradian import _parameters as parameters
from steradian._selection import MISSING
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian._data import SamplesLike

METHODS = ("robust", "rows", "cells", "angular", "ae", "tae", "pca")
CELLWISE = ("robust", "rows", "cells")
"""Methods that estimate from usable cells: one procedure, with and without the detection of bad cells."""
USES_MISSING = (*CELLWISE, "angular", "pca")
"""Methods that fit the other cells of a row with missing cells."""
SCREENS = (None, "none", "cone", "outlyingness")
SCALINGS = ("none", "mad")
CELLS = ("auto", "always", "never")
_FORMER_CELLS = {"clean": "always", "keep": "never"}

_CONE_DEFAULTS = {"max_angle": 60.0, "cosine": "abs", "ties": "index", "recenter": False, "exact": False}
"""Parameters of the cone and their defaults; another value requires a cone."""


class AngularEmbedding(Subspace):
    """Robust PCA: a subspace that bad rows, bad cells and missing cells do not distort.

    `method` selects a preset; parameters that are not None override it. A parameter that the method does not have is
    rejected by name:

    - ``"robust"``: bad rows, bad cells and missing cells at once. Candidates from robust distances of rows and from
      bounded cells are compared by one criterion; the best is refined by a multivariate t likelihood over usable cells.
      Breakdown point close to 50 % for rows.
    - ``"rows"``: ``"robust"`` without the detection of bad cells.
    - ``"cells"``: ``"robust"`` with bad cells always detected.
    - ``"angular"``: spherical PCA: eigenvectors of the spatial sign covariance matrix about the spatial median
      (Locantore et al. 1999). Missing cells: directions over the cells that are present.
    - ``"ae"``: angular embedding (Liu and Yu 2021): spherical PCA about the mean.
    - ``"tae"``: trimmed angular embedding (Liu and Yu 2021): ``"ae"`` restricted to the samples in one cone.
    - ``"pca"``: classical PCA, as in :class:`PCA`.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        Number of components; or a fraction of the robust variance to explain (0 < x < 1); or ``"auto"`` (parallel
        analysis). The last two consider at most 30 components.
    method : {"robust", "rows", "cells", "angular", "ae", "tae", "pca"}, default="robust"
        The preset.
    center : {"spatial_median", "mean", "median", "none"}, array of shape (n_features,) or None, default=None
        The center that is subtracted from each sample, for angular, ae, tae and pca; the others estimate it. None:
        ``"spatial_median"`` (also called geometric median or L1-median) for angular; ``"mean"`` for ae, tae and pca.
    scaling : {"none", "mad"}, default="none"
        ``"mad"`` divides each feature by its median absolute deviation, for features in different units.
    screen : {"outlyingness", "cone", "none"} or None, default=None
        The rule that selects the samples of the decomposition: those with a small outlyingness (Stahel-Donoho), those
        in one cone, or all. None: ``"cone"`` for tae, ``"none"`` for angular, ae and pca; robust, rows and cells
        start from the outlyingness of rows.
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
    cells : {"auto", "always", "never"} or None, default=None
        Detection of bad cells, which are replaced by their expected values during the fit: where that improves the fit,
        always, or never. None: ``"auto"`` for robust, ``"always"`` for cells, ``"never"`` for rows.
    missing : {"use", "drop", "error"}, default="use"
        Treatment of missing cells: fit the other cells of a row, leave the row out of the fit, or raise an error.
        Methods ae and tae cannot use such rows and raise an error for ``"use"``, too.
    skew : bool, default=False
        Adjust outlyingness and cutoffs for skewed features; for robust, rows and cells.
    robust_scores : bool or None, default=None
        Make robust scores the default of :meth:`transform` for this model; for angular, ae, tae and pca. None: False.
    solver : {"auto", "scatter", "gram", "krylov"}, default="auto"
        The eigensolver: on the scatter matrix (D x D), on the Gram matrix (n x n), or block Krylov without either
        matrix; for angular, ae, tae and pca. ``"auto"`` is the cheapest by the cost model of the plan.
    tol : float or None, default=None
        Largest accepted `sine_bound_`. None: 1e-4 for robust, rows and cells, whose statistical error is far larger;
        1e-6 for the others.
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
        Orthonormal rows, in order of decreasing variance (robust, rows, cells, pca) or angular eigenvalue. The entry of
        largest magnitude of each row is positive.
    center_ : ndarray of shape (n_features_in_,)
        The center that is subtracted from samples.
    angular_eigenvalues_ : ndarray of shape (n_components_,) or None
        Eigenvalues of the spatial sign covariance matrix of the support: mean squared cosines to each component. They
        sum to at most 1 and are not variances. None for robust, rows, cells and pca.
    explained_variance_ : ndarray of shape (n_components_,)
        Robust variances of the scores.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Fractions of the total robust variance, which is the sum of `explained_variance_` and the robust mean of squared
        orthogonal distances of the support. They sum to at most 1.
    support_ : ndarray of bool, of shape (n_samples,)
        Mask of the rows used in the final decomposition; False for excluded and dropped rows, too.
    n_components_ : int
        Number of components.
    n_components_reason_ : str or None
        Reason for the number of components; None if it was given.
    pivot_, tau_, max_angle_ : int, ndarray of shape (n_samples,), float; or None
        The pivot of the cone, the number of samples outside the cone around each sample, and the half-angle in degrees.
        `tau_` is exact for all candidates of the pivot; see `exact`. None without a cone.
    scale_ : ndarray of shape (n_features_in_,) or None
        Divisors of the features; None without scaling.
    offset_ : float
        -1, the smallest result of :meth:`score_samples` for an inlier.
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
        missing: str = "use",
        skew: bool = False,
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
        self.missing = missing
        self.skew = skew
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
        method = parameters.one_of("method", self.method, METHODS)
        given: dict[str, Any] = {
            "center": None if self.center is None else parameters.center(self.center),
            "screen": parameters.one_of("screen", self.screen, SCREENS),
            "n_directions": None if self.n_directions is None else parameters.count("n_directions", self.n_directions),
            "cells": parameters.one_of("cells", self._cells(), (None, *CELLS)),
            "robust_scores": parameters.optional_bool("robust_scores", self.robust_scores),
            "tol": None if self.tol is None else parameters.real("tol", self.tol),
        }
        cone = {
            "max_angle": parameters.angle(self.max_angle),
            "cosine": parameters.one_of("cosine", self.cosine, parameters.COSINES),
            "ties": parameters.one_of("ties", self.ties, parameters.TIES),
            "recenter": bool(self.recenter),
            "exact": bool(self.exact),
        }
        solver = parameters.one_of("solver", self.solver, parameters.SOLVERS)
        missing, skew = self._missing(), parameters.flag("skew", self.skew)
        self._require_parameters_of_method(method)
        preset = _preset(method)
        screen = preset["screen"] if given["screen"] is None else given["screen"]
        self._require_screen(screen, cone)
        if screen == "cone" or given["n_directions"] is not None:
            given["screen"] = screen
        return {
            "method": method,
            "n_components": parameters.n_components(self.n_components),
            **given,
            **cone,
            "skew": skew,
            # Dropped rows are left out before the fit.
            "missing": "use" if missing != "error" and method in USES_MISSING else "error",
            "scaling": parameters.one_of("scaling", self.scaling, SCALINGS),
            "solver": None if solver == "auto" else solver,
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _cells(self) -> str | None:
        """The parameter `cells`, former spellings replaced."""
        return _FORMER_CELLS.get(self.cells, self.cells) if isinstance(self.cells, str) else self.cells

    def _missing(self) -> str:
        missing: str = parameters.one_of("missing", self.missing, MISSING)
        return "error" if missing == "use" and self.method not in USES_MISSING else missing

    def _require_parameters_of_method(self, method: str) -> None:
        """Reject parameters that the method does not have, by name."""
        absent: dict[str, Any] = {}
        if method in CELLWISE:
            absent = {"center": None, "solver": "auto", "robust_scores": None, **_CONE_DEFAULTS}
        else:
            absent = {"cells": None, "skew": False}
        if method == "pca":
            absent |= {"screen": None, "n_directions": None}
        for name, default in absent.items():
            value = getattr(self, name)
            if not (value is default or (isinstance(value, type(default)) and value == default)):
                msg = f"{name} = {value!r} is not supported by method = {method!r}; leave it at {default!r}"
                raise ValueError(msg)
        if method in CELLWISE and self.screen == "cone":
            msg = f"screen = 'cone' is not supported by method = {method!r}; use method='tae'"
            raise ValueError(msg)

    def _require_screen(self, screen: str, cone: dict[str, Any]) -> None:
        """Reject parameters of a screen that the method does not have."""
        where = f"method = {self.method!r}" + (f" with screen = {screen!r}" if self.screen is not None else "")
        for name, default in _CONE_DEFAULTS.items():
            if screen != "cone" and cone[name] != default:
                msg = f"{name} = {cone[name]!r} requires a cone, which {where} does not have; use method='tae'"
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
        self.n_components_reason_ = model.n_components_reason

    def cone_angles(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Angles of the samples of the fit to the pivot of the cone, in degrees; NaN at the center.

        Parameters
        ----------
        X : see :meth:`fit`
            The data of the fit, which contain the pivot: the model does not store it. :class:`ConeScreen` does.
        """
        samples = self._samples(X)
        if self._rows is not None and samples.shape[0] == self._n_rows:
            is_new = self._in_rows(np.zeros(len(self._rows), dtype=bool), True)
            samples = samples.without(np.flatnonzero(is_new).tolist())
        return self._in_rows(self._model.cone_angles(samples, threads=self._threads()), np.nan)

    def _place_in_rows(self) -> None:
        super()._place_in_rows()
        if self._rows is None or self.pivot_ is None or self.tau_ is None:
            return
        # Rows that are no samples have no direction, either.
        self.pivot_ = int(self._rows[self.pivot_])
        self.tau_ = self._in_rows(self.tau_, len(self._rows) + 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "drop" or (self.missing == "use" and self.method in USES_MISSING)
        return tags

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
            "scaling": stored["scaling"],
            "skew": stored.get("skew", False),
            # A former model of a method that uses missing cells now has no such parameter.
            "missing": "error" if stored.get("missing") == "error" and model.method in USES_MISSING else "use",
        }
        if model.method not in CELLWISE:
            found["solver"] = stored["solver"]
            if stored["center"] != preset["center"]:
                found["center"] = parameters.stored_center(stored["center"], model)
            if stored.get("robust_scores", False):
                found["robust_scores"] = True
        for name in ("screen", "tol", "n_directions", *(("cells",) if model.method in CELLWISE else ())):
            if name in stored and stored[name] != preset.get(name):
                found[name] = stored[name]
        if "cells" in found:
            found["cells"] = _FORMER_CELLS.get(found["cells"], found["cells"])
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
