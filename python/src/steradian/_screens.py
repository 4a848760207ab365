"""Screens without a decomposition: selection of inliers before any estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import OutlierMixin

from steradian import _engine
from steradian import _parameters as parameters
from steradian._estimator import Estimator

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian._data import SamplesLike
    from steradian._progress import EngineCallback


class Screen(OutlierMixin, Estimator):
    """The base class of the screens."""

    _model: _engine.Screen

    support_: npt.NDArray[np.bool_]
    cutoff_: float
    offset_: float

    def _run(
        self, samples: _engine.Samples, settings: dict[str, Any], callback: EngineCallback | None
    ) -> _engine.Screen:
        return _engine.screen(samples, settings, threads=self._threads(), callback=callback)

    def _set_fitted_attributes(self, model: _engine.Screen) -> None:
        super()._set_fitted_attributes(model)
        self.support_ = model.support
        self.cutoff_ = model.cutoff
        self.offset_ = -model.cutoff

    def _place_in_rows(self) -> None:
        self.support_ = self._in_rows(self.support_, False)

    def fit_predict(self, X: SamplesLike, y: object = None, **options: Any) -> npt.NDArray[np.int64]:
        """Fit, and classify the samples of the fit as inliers or outliers.

        Parameters
        ----------
        X, y, **options
            See :meth:`fit`.

        Returns
        -------
        ndarray of shape (samples,)
            1 for an inlier, -1 for an outlier.
        """
        inliers = np.where(self.fit(X, y, **options).support_, 1, -1)
        if self._rows is not None:
            is_new = self._in_rows(np.zeros(len(self._rows), dtype=bool), True)
            inliers = np.where(is_new, self.predict(X), inliers)
        return inliers

    def score_samples(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Scores of samples: minus their outlyingness; outliers have low scores.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit: those of the fit, or new ones.

        Returns
        -------
        ndarray of shape (samples,)
            Minus the outlyingness or angle. Samples with a score of at least `offset_` are inliers.
        """
        return -self._measure(X)

    def decision_function(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Scores relative to the threshold: ``score_samples(X) - offset_``, negative for outliers.

        Parameters
        ----------
        X : see :meth:`score_samples`
            Samples.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: SamplesLike) -> npt.NDArray[np.int64]:
        """Classify samples: 1 for an inlier, -1 for an outlier.

        Parameters
        ----------
        X : see :meth:`score_samples`
            Samples.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _measure(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        samples = self._samples(X)
        return self._model.measure(samples, threads=self._threads(), callback=self._report())


class ConeScreen(Screen):
    """The screen of the trimmed angular embedding, for any estimator: inliers are the samples in one cone.

    The pivot is the sample with the most other samples within `max_angle` of its direction from the center. Samples in
    its cone are inliers. The score is minus the angle to the pivot in degrees, and minus infinity at the center.

    Parameters
    ----------
    max_angle : float or "auto", default=60.0
        Half-angle of the cone, in degrees; ``"auto"``: the smallest cone that contains half of the samples.
    center : {"spatial_median", "mean", "median", "none"} or array, default="spatial_median"
        The center that is subtracted from each sample.
    cosine : {"abs", "signed"}, default="abs"
        ``"abs"`` treats a direction and its opposite as equal.
    ties : {"index", "density"}, default="index"
        Tie-breaking rule for the pivot: lowest index, or largest sum of squared cosines.
    exact : bool, default=False
        Find the pivot by an exact count over all pairs of samples, as in :class:`AngularEmbedding`.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    support_ : ndarray of bool, of shape (n_samples,)
        Mask of the inliers.
    pivot_, tau_ : int, ndarray of shape (n_samples,)
        The pivot of the cone, and the number of samples outside the cone around each sample.
    max_angle_, cutoff_, offset_ : float
        The half-angle in degrees, the largest angle of an inlier, and minus that: the smallest score of an inlier.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import ConeScreen
    >>> X = np.array([[9.0, 1.0], [8.0, -1.0], [-9.0, 0.5], [-8.0, -0.5], [1.0, 30.0]])
    >>> ConeScreen(30, center="none").fit_predict(X)
    array([ 1,  1,  1,  1, -1])
    """

    pivot_: int
    tau_: npt.NDArray[np.int64]
    max_angle_: float

    def __init__(
        self,
        max_angle: float | str = 60.0,
        *,
        center: str | npt.ArrayLike = "spatial_median",
        cosine: str = "abs",
        ties: str = "index",
        exact: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.max_angle = max_angle
        self.center = center
        self.cosine = cosine
        self.ties = ties
        self.exact = exact
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _settings(self) -> dict[str, Any]:
        return {
            **parameters.SCREEN_ALONE,
            "method": "tae",
            "screen": "cone",
            "center": parameters.center(self.center),
            "max_angle": parameters.angle(self.max_angle),
            "cosine": parameters.one_of("cosine", self.cosine, parameters.COSINES),
            "ties": parameters.one_of("ties", self.ties, parameters.TIES),
            "exact": bool(self.exact),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _set_fitted_attributes(self, model: _engine.Screen) -> None:
        super()._set_fitted_attributes(model)
        assert model.pivot is not None, "a cone has a pivot"
        assert model.tau is not None, "a cone has tau"
        self.pivot_ = model.pivot
        self.tau_ = model.tau
        self.max_angle_ = model.cutoff

    def _place_in_rows(self) -> None:
        super()._place_in_rows()
        if self._rows is not None:
            self.pivot_ = int(self._rows[self.pivot_])
            self.tau_ = self._in_rows(self.tau_, len(self._rows) + 1)

    def cone_angles(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Angles of samples to the pivot, in degrees; NaN at the center.

        Parameters
        ----------
        X : see :meth:`score_samples`
            Samples.
        """
        return self._measure(X)

    def score_samples(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Minus the angle to the pivot, in degrees; minus infinity at the center.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit: those of the fit, or new ones.
        """
        return np.nan_to_num(-self._measure(X), nan=-np.inf, neginf=-np.inf)


class OutlyingnessScreen(Screen):
    """The Stahel-Donoho screen (Stahel 1981, Donoho 1982): inliers are the samples with a small outlyingness.

    The outlyingness of a sample is its largest robust z-score over many projection directions, each through a pair of
    samples. Its cutoff is computed from the outlyingness of all samples. The breakdown point is close to 50 %.

    The projection directions are stored for new samples: 8 bytes per direction and feature.

    Parameters
    ----------
    n_directions : int, default=250
        Number of projection directions.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    support_ : ndarray of bool, of shape (n_samples,)
        Mask of the inliers.
    outlyingness_ : ndarray of shape (n_samples,)
        Outlyingness of each sample of the fit.
    cutoff_, offset_ : float
        The largest outlyingness and the smallest score of an inlier.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import OutlyingnessScreen
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> X[:5] += 30
    >>> OutlyingnessScreen().fit_predict(X)[:7]
    array([-1, -1, -1, -1, -1,  1,  1])
    """

    outlyingness_: npt.NDArray[np.float64]

    def __init__(
        self,
        n_directions: int = 250,
        *,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_directions = n_directions
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _settings(self) -> dict[str, Any]:
        return {
            **parameters.SCREEN_ALONE,
            "method": "angular",
            "missing": "error",
            "screen": "outlyingness",
            "center": "spatial_median",
            "n_directions": parameters.count("n_directions", self.n_directions),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _set_fitted_attributes(self, model: _engine.Screen) -> None:
        super()._set_fitted_attributes(model)
        self.outlyingness_ = model.measures

    def _place_in_rows(self) -> None:
        super()._place_in_rows()
        self.outlyingness_ = self._in_rows(self.outlyingness_, np.nan)
