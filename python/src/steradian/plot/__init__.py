"""Plots with matplotlib: each function draws on one axes and returns it.

Without an axes they draw on a new figure. Only this module requires matplotlib: ``pip install steradian[plot]``.
"""

from steradian.plot._cell_map import cell_map
from steradian.plot._components import components
from steradian.plot._cone import angle_histogram, tau_curve
from steradian.plot._outlier_map import outlier_map
from steradian.plot._scores import score_pairs
from steradian.plot._scree import scree

__all__ = ["angle_histogram", "cell_map", "components", "outlier_map", "score_pairs", "scree", "tau_curve"]
