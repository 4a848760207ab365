"""What the cone saw: how many samples each sample has outside, and how the kept ones lie around the pivot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from steradian.plot._axes import CUTOFF_COLOUR, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from steradian._data import SamplesLike


def tau_curve(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw tau, the number of samples outside the cone around each sample, in rising order.

    A curve that starts flat has many samples that agree on a cone; one that rises at once has a pivot by chance.

    Parameters
    ----------
    estimator : ConeScreen or AngularEmbedding
        Fitted, with a cone.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    tau = _cone_of(estimator).tau_
    # Samples without direction hold n + 1: they see nobody.
    seen = np.sort(tau[tau <= len(tau)])
    ax = axes(ax)
    ax.plot(np.arange(len(seen)), seen, color="#4c72b0", drawstyle="steps-post")
    least = int(tau[estimator.pivot_])
    ax.axhline(least, color=CUTOFF_COLOUR, linewidth=1, linestyle="--", zorder=0)
    ax.plot(0, least, "D", color="#c44e52", label=f"pivot: sample {estimator.pivot_}, {least} outside")
    ax.set(xlabel="samples, by tau", ylabel="samples outside the cone (tau)", title="Tau curve", ylim=(0, len(tau)))
    ax.legend(frameon=False, fontsize="small")
    return ax


def angle_histogram(estimator: Any, X: SamplesLike, *, ax: Axes | None = None, bins: int = 45) -> Axes:
    """Draw how many samples lie at each angle from the pivot, and where the cone ends.

    Parameters
    ----------
    estimator : ConeScreen or AngularEmbedding
        Fitted, with a cone.
    X : samples
        Those of the fit, or others.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.
    bins : int, default=45
        How many bars.

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
    for within, colour, where in ((True, "#4c72b0", "inside"), (False, "#cccccc", "outside")):
        part = angles[(angles <= limit) == within]
        ax.hist(part, bins=edges, color=colour, label=f"{where} the cone ({len(part)})")
    ax.axvline(limit, color=CUTOFF_COLOUR, linewidth=1, linestyle="--")
    ax.set(xlabel="angle from the pivot (degrees)", ylabel="samples", title="Angles and the cone", xlim=(0, end))
    ax.legend(frameon=False, fontsize="small")
    return ax


def _cone_of(estimator: Any) -> Any:
    check_is_fitted(estimator)
    if getattr(estimator, "tau_", None) is None:
        msg = 'this model has no cone; fit with screen="cone", or AngularEmbedding.paper with an angle'
        raise ValueError(msg)
    return estimator
