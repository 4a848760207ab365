"""The axes that a plot draws on, and the colours that mean the same in all plots."""

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
"""Colour and marker of each flag; the shapes tell them apart without colours."""
CUTOFF_COLOUR = "#555555"


def axes(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "plots need matplotlib; pip install steradian[plot]"
        raise ImportError(msg) from error
    return plt.subplots(layout="constrained")[1]


def words(flag: str) -> str:
    """A flag as it reads in a legend."""
    return flag.replace("_", " ")
