"""Scatter plot of the scores along two components, with flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steradian.plot._axes import CUTOFF_COLOR, FLAG_STYLES, axes, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from steradian._data import SamplesLike


def score_pairs(
    estimator: Any,
    X: SamplesLike,
    *,
    pair: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
    robust_scores: bool | None = None,
) -> Axes:
    """Draw the scores of samples along two components, colored by flag.

    On the ellipse the score distance equals its cutoff if all other scores are 0.

    Parameters
    ----------
    estimator : AngularEmbedding or PCA
        A fitted estimator with at least two components.
    X : samples
        As for `transform`.
    pair : (int, int), default=(0, 1)
        Indices of the components, from 0.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure by default.
    robust_scores : bool, optional
        Draw robust scores; None is the default of the model, as in `transform`.

    Returns
    -------
    matplotlib axes
    """
    diagnosis = estimator.diagnose(X)
    across, up = pair
    if not (0 <= across < estimator.n_components_ and 0 <= up < estimator.n_components_):
        msg = f"pair = {pair} exceeds the {estimator.n_components_} components of the model; count from 0"
        raise ValueError(msg)
    samples = estimator._samples(X)
    scores = estimator._fitted_model().transform(samples, robust_scores=robust_scores)
    ax = axes(ax)
    for flag, (color, marker) in FLAG_STYLES.items():
        here = diagnosis.flag == flag
        if here.any():
            text = f"{words(flag)} ({here.sum()})"
            x, y = scores[here, across], scores[here, up]
            ax.scatter(x, y, s=18, c=color, marker=marker, alpha=0.8, linewidths=0, label=text)
    if np.isfinite(diagnosis.score_cutoff):
        round_ = np.linspace(0, 2 * np.pi, 200)
        radii = diagnosis.score_cutoff * np.sqrt(estimator.explained_variance_[[across, up]])
        ax.plot(radii[0] * np.cos(round_), radii[1] * np.sin(round_), "--", color=CUTOFF_COLOR, linewidth=1, zorder=0)
    ax.set(xlabel=f"component {across}", ylabel=f"component {up}", title="Scores")
    ax.legend(frameon=False, fontsize="small")
    return ax
