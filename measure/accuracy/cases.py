"""Cases: data sets by name and seed, on which methods are compared.

A case is a kind and its parameters joined by "_", such as clu_0.3_15_3; `LEGEND` explains them. The same name and seed
give the same numbers on every machine: draws come in a fixed order from a generator seeded by both.
"""

from __future__ import annotations

import zlib

import numpy as np

from measure.accuracy import a09, mixed_models, models
from measure.accuracy.sample import Sample

KNOWN = [
    "hay_0.1_1",
    "hay_0.3_1",
    "hay_0.5_1",
    "hay_0.7_1",
    "hay_0.5_10",
    "low_0_6_1",
    "low_0.1_6_1",
    "low_0.1_12_15",
    "low_0.2_12_1",
    "low_0.2_12_15",
    "high_0_6_1",
    "high_0.1_6_1",
    "high_0.1_12_15",
    "high_0.2_12_15",
    "high_0.2_20_1",
    "t_1",
    "t_3",
    "clu_0.1_15_1",
    "clu_0.1_15_3",
    "clu_0.2_15_3",
    "clu_0.3_15_1",
    "clu_0.3_15_3",
    "clu_0.4_15_1",
    "clu_0.4_15_3",
    "clu_0.45_15_1",
    "clu_0.45_15_3",
    "lin_0.2_15_1",
    "lin_0.2_15_3",
    "lin_0.4_15_1",
    "lin_0.4_15_3",
    "shift_0.01_1000000",
    "shift_0.1_1000",
    "shift_0.3_1000",
    "cell_0.05",
    "cell_0.1",
    "cell_0.2",
]
"""The 36 cases with bad rows or bad cells."""

A09 = (
    "clean_0",
    "cell20_3",
    "cell20_5",
    "cell20_10",
    "row20_5",
    "row20_10",
    "row20_20",
    "row30_10",
    "both_3",
    "both_5",
    "both_10",
    "both_20",
)
NEW = [
    *(f"a09_{features}_{contamination}" for features in (20, 100, 200) for contamination in A09),
    "near_0.2_1_0.3",
    "near_0.3_1_0.3",
    "near_0.4_1_0.3",
    "near_0.3_2_0.3",
    "near_0.4_2_0.3",
    "near_0.4_3_0.3",
    "near_0.3_1_0.1",
    "near_0.4_2_0.1",
    "near_0.45_3_0.3",
    "both_0.1_0.1_15",
    "both_0.1_0.2_15",
    "both_0.05_0.3_15",
    "both_0.05_0.4_15",
    "both_0.2_0.2_15",
    "small_10_2_0_0",
    "small_10_2_0_0.2",
    "small_10_2_0_0.4",
    "small_10_2_0.1_0",
    "small_10_2_0.1_0.1",
    "small_60_2_0.1_0.1",
    "wide_0_0",
    "wide_0_0.2",
    "wide_0.1_0",
    "wide_0.1_0.1",
]
"""The 60 cases with bad rows, bad cells or both."""

MISSING = ["a09_20_bothNA_5", "a09_100_bothNA_5", "a09_200_bothNA_5", "a09_200_bothNA_10"]
"""Cases with missing cells as well."""

LEGEND = models.LEGEND | mixed_models.LEGEND | a09.LEGEND
"""The parameters of each kind of case, its size, and the contamination."""


def sample(name: str, seed: int) -> Sample:
    """The data of a case."""
    kind, *parameters = name.split("_")
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    if kind == "a09":
        return a09.a09(rng, *parameters)
    numbers = map(float, parameters)
    if kind in models.KINDS:
        return models.shuffled(rng, models.KINDS[kind](rng, *numbers))
    return mixed_models.KINDS[kind](rng, *numbers)


def kind_of(name: str) -> str:
    """The kind of a case."""
    return name.split("_", maxsplit=1)[0]
