"""The axes of a plot, and the colors of the flags in all plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAG_STYLES = {
    "regular": ("#4c72b0", "o"),
    "good_leverage": ("#55a868", "s"),
    "orthogonal": ("#dd8452", "^"),
    "bad_leverage": ("#c44e52", "D"),
}
"""Color and marker of each flag; the markers distinguish them without colors."""
CUTOFF_COLOR = "#555555"


def axes(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "plots require matplotlib; install it with pip install steradian[plot]"
        raise ImportError(msg) from error
    return plt.subplots(layout="constrained")[1]


def words(flag: str) -> str:
    """The text of a flag in a legend."""
    return flag.replace("_", " ")
