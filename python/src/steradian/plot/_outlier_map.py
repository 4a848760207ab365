"""The outlier map: distance along the subspace against distance from it (Hubert, Rousseeuw and Vanden Branden 2005)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steradian.plot._axes import CUTOFF_COLOUR, FLAG_STYLES, axes, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from steradian._diagnosis import Diagnosis


def outlier_map(
    diagnosis: Diagnosis, *, ax: Axes | None = None, label: int = 3, names: Sequence[Any] | None = None
) -> Axes:
    """Draw every sample by its two distances, with the cutoffs that part the flags.

    Parameters
    ----------
    diagnosis : Diagnosis
        From an estimator's `diagnose`.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.
    label : int, default=3
        How many of the worst samples are named.
    names : sequence, optional
        A name for each sample; its index by default.

    Returns
    -------
    matplotlib axes
    """
    ax = axes(ax)
    across, up = diagnosis.score_distance, diagnosis.orthogonal_distance
    for flag, (colour, marker) in FLAG_STYLES.items():
        here = diagnosis.flag == flag
        if here.any():
            text = f"{words(flag)} ({here.sum()})"
            ax.scatter(across[here], up[here], s=18, c=colour, marker=marker, alpha=0.8, linewidths=0, label=text)
    for cutoff, line in ((diagnosis.score_cutoff, ax.axvline), (diagnosis.orthogonal_cutoff, ax.axhline)):
        if np.isfinite(cutoff):
            line(cutoff, color=CUTOFF_COLOUR, linewidth=1, linestyle="--", zorder=0)
    middle = 0.5 * float(np.max(across, initial=0.0))
    for sample in diagnosis.worst(label):
        # A name near the right edge goes to the left of its sample, where there is room.
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
    # Room for the names of the farthest.
    ax.set_xlim(0, 1.08 * ax.get_xlim()[1])
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    ax.legend(frameon=False, fontsize="small")
    return ax
