"""The outlier map: orthogonal distance over score distance (Hubert, Rousseeuw and Vanden Branden 2005)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steradian.plot._axes import CUTOFF_COLOR, FLAG_STYLES, axes, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from steradian._diagnosis import Diagnosis


def outlier_map(
    diagnosis: Diagnosis, *, ax: Axes | None = None, label: int = 3, names: Sequence[Any] | None = None
) -> Axes:
    """Draw the orthogonal distance of each sample over its score distance, with the cutoffs.

    Parameters
    ----------
    diagnosis : Diagnosis
        The result of `diagnose` of an estimator.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure by default.
    label : int, default=3
        Number of the most extreme samples that are labeled.
    names : sequence, optional
        One label per sample; its index by default.

    Returns
    -------
    matplotlib axes
    """
    ax = axes(ax)
    across, up = diagnosis.score_distance, diagnosis.orthogonal_distance
    for flag, (color, marker) in FLAG_STYLES.items():
        here = diagnosis.flag == flag
        if here.any():
            text = f"{words(flag)} ({here.sum()})"
            ax.scatter(across[here], up[here], s=18, c=color, marker=marker, alpha=0.8, linewidths=0, label=text)
    for cutoff, line in ((diagnosis.score_cutoff, ax.axvline), (diagnosis.orthogonal_cutoff, ax.axhline)):
        if np.isfinite(cutoff):
            line(cutoff, color=CUTOFF_COLOR, linewidth=1, linestyle="--", zorder=0)
    middle = 0.5 * float(np.max(across, initial=0.0))
    for sample in diagnosis.worst(label):
        # A label near the right edge is drawn to the left of its sample, where there is space.
        left = across[sample] > middle
        ax.annotate(
            str(sample if names is None else names[sample]),
            (across[sample], up[sample]),
            xytext=(-5 if left else 5, 4),
            textcoords="offset points",
            fontsize="small",
            ha="right" if left else "left",
        )
    ax.set(xlabel="score distance", ylabel="orthogonal distance", title="Outlier map")
    # Space for the labels of the farthest samples.
    ax.set_xlim(0, 1.08 * ax.get_xlim()[1])
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    ax.legend(frameon=False, fontsize="small")
    return ax
