"""Screens on their own: which samples to trust, before any estimator."""

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
    """What both screens share."""

    _model: _engine.Screen

    support_: npt.NDArray[np.bool_]
    cutoff_: float
    offset_: float

    def _run(
        self, samples: _engine.Samples, settings: dict[str, Any], callback: EngineCallback | None
    ) -> _engine.Screen:
        return _engine.screen(samples, settings, threads=self._threads(), callback=callback)

    def _learn(self, model: _engine.Screen) -> None:
        super()._learn(model)
        self.support_ = model.kept
        self.cutoff_ = model.cutoff
        self.offset_ = -model.cutoff

    def fit_predict(self, X: SamplesLike, y: object = None, **options: Any) -> npt.NDArray[np.int64]:
        """Find the samples to trust, and say for each whether it is one.

        Parameters
        ----------
        X, y, **options
            See :meth:`fit`.

        Returns
        -------
        ndarray of shape (samples,)
            1 for a sample to trust, -1 for another.
        """
        return np.where(self.fit(X, y, **options).support_, 1, -1)

    def score_samples(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Measure samples: the higher, the more to trust.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples of the same features; those of the fit, or new ones.

        Returns
        -------
        ndarray of shape (samples,)
            Minus the measure, which the class names. `offset_` is where trust ends.
        """
        return -self._measure(X)

    def decision_function(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Measure samples from where trust ends: `score_samples(X) - offset_`.

        Parameters
        ----------
        X : see :meth:`score_samples`
            Samples.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: SamplesLike) -> npt.NDArray[np.int64]:
        """Judge samples: 1 to trust, -1 not.

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
    """Trust the samples within one cone: TAE's rule, for any estimator.

    Seen from the center, the sample that has most others within `max_angle` of its direction is the pivot. Samples in
    its cone are trusted. The measure is the angle to the pivot, in degrees; a sample at the center has none, and its
    score is the lowest there is.

    Parameters
    ----------
    max_angle : float or "auto", default=60.0
        Half the opening of the cone, in degrees; ``"auto"`` for the smallest that holds half of the samples.
    center : {"spatial_median", "mean", "median", "none"} or array, default="spatial_median"
        Where samples are seen from.
    cosine : {"abs", "signed"}, default="abs"
        Whether a direction and its opposite count as the same.
    ties : {"index", "density"}, default="index"
        Which of several equal pivots is taken.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    support_ : ndarray of bool, of shape (n_samples,)
        Which samples are trusted.
    pivot_, tau_ : int, ndarray of shape (n_samples,)
        The sample that the cone is around, and how many samples lie outside the cone of each.
    max_angle_, cutoff_, offset_ : float
        The angle that was used, as it is, as the largest measure, and as the least score to trust.

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
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.max_angle = max_angle
        self.center = center
        self.cosine = cosine
        self.ties = ties
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
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _learn(self, model: _engine.Screen) -> None:
        super()._learn(model)
        assert model.pivot is not None, "a cone has a pivot"
        assert model.tau is not None, "a cone has counts"
        self.pivot_ = model.pivot
        self.tau_ = model.tau
        self.max_angle_ = model.cutoff

    def cone_angles(self, X: SamplesLike) -> npt.NDArray[np.float64]:
        """Angles of samples to the pivot, in degrees; not a number at the center.

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
            Samples of the same features; those of the fit, or new ones.
        """
        return np.nan_to_num(-self._measure(X), nan=-np.inf, neginf=-np.inf)


class OutlyingnessScreen(Screen):
    """Trust the samples that no direction shows to be far out (Stahel 1981, Donoho 1982).

    Along many directions through pairs of samples, the bulk has a place and a spread. The measure of a sample is its
    largest distance from that place, in spreads. Samples whose measure is within the bulk of all are trusted. Almost
    half of the samples may be wrong.

    The directions are kept to measure new samples by: 8 bytes for each and each feature.

    Parameters
    ----------
    n_directions : int, default=250
        Directions to look along.
    random_state, n_jobs, memory_limit, verbose
        As in :class:`AngularEmbedding`.

    Attributes
    ----------
    support_ : ndarray of bool, of shape (n_samples,)
        Which samples are trusted.
    outlyingness_ : ndarray of shape (n_samples,)
        The measure of each sample of the fit.
    cutoff_, offset_ : float
        The largest measure, and the least score, to trust.

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
            "method": "robust",
            "screen": "outlyingness",
            "center": "spatial_median",
            "n_directions": parameters.count("n_directions", self.n_directions),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _learn(self, model: _engine.Screen) -> None:
        super()._learn(model)
        self.outlyingness_ = model.measures
