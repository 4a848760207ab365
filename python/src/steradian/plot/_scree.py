"""The scree plot: how much each component holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from steradian.plot._axes import axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scree(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw angular shares and shares of the robust variance, component by component.

    Angular shares are mean squared cosines, blind to lengths; variance shares see lengths but not outliers. Where they
    disagree, a direction is common but short, or rare but long. Variances are drawn relative to the total where it
    is known, else to their own sum. Classical PCA has no angular shares.

    Parameters
    ----------
    estimator : AngularEmbedding or PCA
        Fitted.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    check_is_fitted(estimator)
    ax = axes(ax)
    place = np.arange(1, estimator.n_components_ + 1)
    try:
        variances, of = estimator.explained_variance_ratio_, "total variance"
    except AttributeError:
        variances, of = estimator.explained_variance_ / estimator.explained_variance_.sum(), "variance of all shown"
    shares = getattr(estimator, "angular_shares_", None)
    if shares is not None:
        ax.bar(place, 100 * shares, width=0.6, color="#a6bddb", label="angular share")
    ax.plot(place, 100 * variances, "o-", color="#c44e52", label=f"share of the {of}")
    ax.set(xlabel="component", ylabel="share (%)", title="Scree plot")
    ax.set_xticks(place)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small")
    return ax
