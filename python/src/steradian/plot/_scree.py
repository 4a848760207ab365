"""The scree plot: angular eigenvalues and explained-variance ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from steradian.plot._axes import axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scree(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw angular eigenvalues and explained-variance ratios per component, in percent.

    Angular eigenvalues are mean squared cosines and do not depend on norms; robust variances do. They differ for a
    direction of many samples of small norm, or of few samples of large norm. Variances are divided by the total
    variance, or by their sum if a model file has no total. Classical PCA has no angular eigenvalues.

    Parameters
    ----------
    estimator : AngularEmbedding or PCA
        A fitted estimator.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    check_is_fitted(estimator)
    ax = axes(ax)
    number = np.arange(1, estimator.n_components_ + 1)
    try:
        ratio, label = estimator.explained_variance_ratio_, "explained variance"
    except AttributeError:
        ratio = estimator.explained_variance_ / estimator.explained_variance_.sum()
        label = "explained variance (of the components)"
    eigenvalues = getattr(estimator, "angular_eigenvalues_", None)
    if eigenvalues is not None:
        ax.bar(number, 100 * eigenvalues, width=0.6, color="#a6bddb", label="angular eigenvalue")
    ax.plot(number, 100 * ratio, "o-", color="#c44e52", label=label)
    ax.set(xlabel="component", ylabel="percentage", title="Scree plot")
    ax.set_xticks(number)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small")
    return ax
