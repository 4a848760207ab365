"""Plots of the cone: tau of all samples, and the angles to the pivot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from steradian.plot._axes import CUTOFF_COLOR, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from steradian._data import SamplesLike


def tau_curve(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw tau, the number of samples outside the cone around each sample, in rising order.

    A curve that starts flat means that many samples have similar cones; a curve that rises at once means that the pivot
    is arbitrary.

    Parameters
    ----------
    estimator : ConeScreen or AngularEmbedding
        A fitted estimator with a cone.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    tau = _cone_of(estimator).tau_
    # Samples without a direction have tau = n + 1.
    shown = np.sort(tau[tau <= len(tau)])
    ax = axes(ax)
    ax.plot(np.arange(len(shown)), shown, color="#4c72b0", drawstyle="steps-post")
    least = int(tau[estimator.pivot_])
    ax.axhline(least, color=CUTOFF_COLOR, linewidth=1, linestyle="--", zorder=0)
    ax.plot(0, least, "D", color="#c44e52", label=f"pivot: sample {estimator.pivot_}, {least} outside")
    ax.set(xlabel="samples, by tau", ylabel="samples outside the cone (tau)", title="Tau curve", ylim=(0, len(tau)))
    ax.legend(frameon=False, fontsize="small")
    return ax


def angle_histogram(estimator: Any, X: SamplesLike, *, ax: Axes | None = None, bins: int = 45) -> Axes:
    """Draw a histogram of the angles to the pivot, with the half-angle of the cone.

    Parameters
    ----------
    estimator : ConeScreen or AngularEmbedding
        A fitted estimator with a cone.
    X : samples
        The samples of the fit, or new ones for a :class:`ConeScreen`.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure by default.
    bins : int, default=45
        Number of bins.

    Returns
    -------
    matplotlib axes
    """
    degrees = _cone_of(estimator).cone_angles(X)
    ax = axes(ax)
    end = 180 if estimator.cosine == "signed" else 90
    angles = degrees[np.isfinite(degrees)]
    limit = estimator.max_angle_
    edges = np.linspace(0, end, bins + 1).tolist()
    for within, color, where in ((True, "#4c72b0", "inside"), (False, "#cccccc", "outside")):
        part = angles[(angles <= limit) == within]
        ax.hist(part, bins=edges, color=color, label=f"{where} the cone ({len(part)})")
    ax.axvline(limit, color=CUTOFF_COLOR, linewidth=1, linestyle="--")
    ax.set(xlabel="angle from the pivot (degrees)", ylabel="samples", title="Angles and the cone", xlim=(0, end))
    ax.legend(frameon=False, fontsize="small")
    return ax


def _cone_of(estimator: Any) -> Any:
    check_is_fitted(estimator)
    if getattr(estimator, "tau_", None) is None:
        msg = "this model has no cone; fit with method='tae', or use ConeScreen"
        raise ValueError(msg)
    return estimator
