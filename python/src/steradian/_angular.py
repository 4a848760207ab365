"""Angular embedding: samples count by their direction from the center, not by their distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _parameters as parameters
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian import _engine
    from steradian._data import SamplesLike

SCREENS = (None, "cone", "outlyingness")
LOSSES = ("squared_cosine", "sine")
CELLS = ("keep", "clean")
SCALES = ("none", "mad")


class AngularEmbedding(Subspace):
    """Robust PCA: components of directions rather than of distances.

    Seen from a robust center, every sample is a direction. The components are the subspace that the directions of the
    trusted samples lie nearest to. With the defaults, almost half of the samples may be wrong.

    Parameters
    ----------
    n_components : int, float or "auto", default=2
        How many components; or the fraction of the robust variance that they are to explain, between 0 and 1; or
        ``"auto"`` for as many as stand out from noise.
    center : {"spatial_median", "mean", "median", "none"} or array, default="spatial_median"
        Where samples are seen from.
    scale : {"none", "mad"}, default="none"
        Whether features are divided by their median absolute deviation first, for features of different units.
    screen : {"outlyingness", "cone", None}, default="outlyingness"
        Who is trusted: samples that no direction through two samples shows to be far out; samples in one cone (TAE);
        or all that have a direction.
    max_angle : float or "auto", default=60.0
        Half the opening of the cone, in degrees. Only for ``screen="cone"``, as are the next three.
    cosine : {"abs", "signed"}, default="abs"
        Whether a direction and its opposite count as the same.
    ties : {"index", "density"}, default="index"
        Which of several equal pivots is taken: the first, or the one in the densest place.
    recenter : bool, default=False
        Whether the mean of the kept samples becomes the center.
    n_directions : int, default=250
        Directions that ``screen="outlyingness"`` looks along.
    loss : {"sine", "squared_cosine"}, default="sine"
        What the fit minimises over the trusted samples: the sum of sines of the angles to the subspace, which samples
        off it hardly move; or minus the sum of squared cosines (AE).
    cells : {"keep", "clean"}, default="keep"
        Whether single cells that do not fit are replaced by what the fit expects there.
    solver : {"auto", "scatter", "gram", "krylov"}, default="auto"
        How eigenvectors are found: through the D x D matrix, the n x n matrix, or by passes without either.
    tol : float, default=1e-6
        The largest sine of an angle to the exact subspace that counts as converged.
    random_state : int, RandomState or None, default=0
        The seed of every random choice.
    n_jobs : int or None, default=None
        Threads; ``None`` and -1 take all cores. The answer does not depend on it.
    memory_limit : int, str or None, default=None
        Bytes that a fit may allocate, or a text such as ``"512M"``; a fit that needs more is refused at once.
    verbose : bool, default=False
        Whether passes are shown on standard error as they run.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Orthonormal rows, by falling angular share. The largest entry of each is positive.
    center_ : ndarray of shape (n_features_in_,)
        The center that is subtracted from samples.
    angular_shares_ : ndarray of shape (n_components_,)
        Mean squared cosine of the trusted samples to each component. They sum to at most 1 and are not variances.
    explained_variance_ : ndarray of shape (n_components_,)
        Squared robust scale of the scores.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Fractions of the total robust variance, which is the sum of `explained_variance_` and the robust mean of squared
        orthogonal distances of the samples in `support_`. They sum to at most 1.
    support_ : ndarray of bool, of shape (n_samples,)
        Which samples the components come from.
    n_components_ : int
        How many components there are.
    chosen_ : str or None
        Why there are this many, where the number was found.
    pivot_, tau_, max_angle_ : int, ndarray of shape (n_samples,), float; or None
        The sample that the cone is around, how many samples lie outside the cone of each, and the angle that was used.
        Among very many samples ``tau_`` is exact for those that might be the pivot; see ``exact`` of :meth:`fit`.
    scale_ : ndarray of shape (n_features_in_,) or None
        What features are divided by.
    cleaned_share_ : float or None
        The share of cells that were cleaned.
    n_passes_ : int
        Passes over the data that the fit made.
    residual_, sine_bound_, converged_ : float, float, bool
        The certificate: how far the components are from being eigenvectors; an upper bound on the sine of the largest
        angle to the exact subspace of the last step; whether that is at most `tol`.
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

    angular_shares_: npt.NDArray[np.float64]
    pivot_: int | None
    tau_: npt.NDArray[np.int64] | None
    max_angle_: float | None
    scale_: npt.NDArray[np.float64] | None
    cleaned_share_: float | None
    chosen_: str | None

    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        center: str | npt.ArrayLike = "spatial_median",
        scale: str = "none",
        screen: str | None = "outlyingness",
        max_angle: float | str = 60.0,
        cosine: str = "abs",
        ties: str = "index",
        recenter: bool = False,
        n_directions: int = 250,
        loss: str = "sine",
        cells: str = "keep",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.screen = screen
        self.max_angle = max_angle
        self.cosine = cosine
        self.ties = ties
        self.recenter = recenter
        self.n_directions = n_directions
        self.loss = loss
        self.cells = cells
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    @classmethod
    def paper(cls, n_components: int, max_angle: float | str | None = None) -> Self:
        """The paper's AE around the mean; with an angle its trimmed form TAE.

        Parameters
        ----------
        n_components : int
            The number of components.
        max_angle : float or "auto", optional
            Half the opening of TAE's cone, in degrees.
        """
        trimmed = max_angle is not None
        return cls(
            n_components,
            center="mean",
            screen="cone" if trimmed else None,
            max_angle=60.0 if max_angle is None else max_angle,
            loss="squared_cosine",
        )

    def _settings(self) -> dict[str, Any]:
        screen = parameters.one_of("screen", self.screen, SCREENS)
        cells = parameters.one_of("cells", self.cells, CELLS)
        return {
            "method": self._method(),
            "n_components": parameters.n_components(self.n_components),
            "center": parameters.center(self.center),
            "scale": parameters.one_of("scale", self.scale, SCALES),
            "screen": "none" if screen is None else screen,
            "max_angle": parameters.angle(self.max_angle),
            "cosine": parameters.one_of("cosine", self.cosine, parameters.COSINES),
            "ties": parameters.one_of("ties", self.ties, parameters.TIES),
            "recenter": bool(self.recenter),
            "n_directions": parameters.count("n_directions", self.n_directions),
            "loss": parameters.one_of("loss", self.loss, LOSSES),
            "cells": cells,
            "solver": parameters.one_of("solver", self.solver, parameters.SOLVERS),
            "tol": parameters.real("tol", self.tol),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _method(self) -> str:
        """The command line's name for these parameters, which model files hold."""
        if self.cells == "clean":
            return "cells"
        if self.screen is not None:
            return {"cone": "tae", "outlyingness": "robust"}[self.screen]
        return "ae" if isinstance(self.center, str) and self.center == "mean" else "angular"

    def _learn(self, model: _engine.Model) -> None:
        super()._learn(model)
        shares = model.shares
        assert shares is not None, "only classical PCA has no shares"
        self.angular_shares_ = shares
        self.pivot_ = model.pivot
        self.tau_ = model.tau
        self.max_angle_ = model.cone_degrees
        self.scale_ = model.scale
        self.cleaned_share_ = model.cleaned_share
        self.chosen_ = model.chosen

    def cone_angles(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Angles of the samples of the fit to the pivot of the cone, in degrees; not a number at the center.

        Parameters
        ----------
        X : see :meth:`fit`
            The data of the fit: the model does not hold the pivot itself. :class:`ConeScreen` does.
        """
        samples = self._samples(X)
        return self._model.cone_angles(samples, threads=self._threads())

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        if model.method == "pca":
            msg = f"{path}: this is a model of classical PCA; use steradian.PCA.load"
            raise ValueError(msg)
        if model.method in ("empca", "emae", "ga", "tga", "pcp"):
            msg = f"{path}: this is a model of method {model.method}; use steradian.load"
            raise ValueError(msg)
        stored = metadata["parameters"]
        name = stored["center"].replace("-", "_")
        found: dict[str, Any] = {
            "n_components": stored["n_components"],
            "center": model.center if name == "given" else name,
            "screen": None if stored["screen"] == "none" else stored["screen"],
            "random_state": metadata["seed"],
            **{key: stored[key] for key in ("scale", "loss", "cells", "solver", "tol")},
        }
        if found["screen"] == "cone":
            found["max_angle"] = "auto" if stored["angle_auto"] else stored["angle"]
            found.update({key: stored[key] for key in ("cosine", "ties", "recenter")})
        if found["screen"] == "outlyingness":
            found["n_directions"] = stored["directions"]
        return found
