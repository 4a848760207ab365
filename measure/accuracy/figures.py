"""Angles of other methods on the cases, from files of this folder; measure/README.md says where they come from."""

from __future__ import annotations

import csv
from pathlib import Path

Figures = dict[str, dict[str, float]]
"""Degrees by case, then by method; a method that does not apply to a case has none."""

OTHERS = {
    "PcaHubert_0.5": "PcaHubert 0.5",
    "PcaHubert_0.75": "PcaHubert 0.75",
    "PcaLocantore": "PcaLocantore",
    "PcaGrid": "PcaGrid",
    "MacroPCA": "MacroPCA",
    "MacroPCA_scaled": "MacroPCA, scaled",
}
"""Methods of R packages, with their column heads."""
FORMER = {
    "former_angular": "former `angular`",
    "former_robust": "former `robust`",
    "former_cells": "former `cells`",
}
"""Methods of this program before `robust` and `cells` had their present estimator."""
COMPARED = OTHERS | FORMER
"""Methods that the ratios refer to."""
CLEAN_PCA = "clean_pca"
"""PCA of the samples and cells that are not contaminated: the limit that no method can be expected to surpass."""

REFERENCE = {
    "TGA": "TGA",
    "ALM": "ALM",
    "TAE60": "TAE",
    "Tyler": "Tyler",
    "FMS": "FMS",
    "sdo_ae": "SDO + AE",
    "cell_ae": "cellwise AE",
}
"""Methods of the NumPy reference, which cover the 36 cases with bad rows or bad cells, with their column heads."""


def read(name: str) -> Figures:
    """The figures of a file, in degrees with one decimal."""
    with (Path(__file__).parent / name).open(newline="") as file:
        return {
            row.pop("case"): {method: float(text) for method, text in row.items() if text}
            for row in csv.DictReader(file)
        }


SEEDS = range(200, 210)
"""Seeds of the figures of methods of R packages and of former methods."""
MEDIAN = read("other_methods_median.csv")
HIGH = read("other_methods_q90.csv")
"""Medians and 90th percentiles over `SEEDS`."""
REFERENCE_MEDIAN = read("reference_median.csv")
REFERENCE_HIGH = read("reference_q90.csv")
"""Medians and 90th percentiles over seeds 0 to 19."""


def least(case: str) -> tuple[float, str]:
    """The smallest median of the compared methods on a case, and its method."""
    return min((degrees, method) for method, degrees in MEDIAN[case].items() if method in COMPARED)
