"""Flags of clusters, explained variance and the number of components on data with known ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from measure import estimator
from measure.accuracy.batches import batches
from measure.accuracy.cases import KNOWN, kind_of, sample
from measure.arrays import Array
from measure.parallel import in_processes
from measure.processes import say

CLUSTERS = tuple(case for case in KNOWN if kind_of(case) == "clu")
CLEAN = ("clu_0_15_3", "low_0_6_1", "high_0_6_1")
OUTLIERS = ("clu_0.2_15_3", "lin_0.2_15_3", "shift_0.2_1000", "low_0.2_12_1", "high_0.2_20_1")
"""Cases with known variances; 20 % outliers in the second group."""
COUNTED = ("clu_0_15_3", "hay_0_1", "clu_0.3_15_3", "lin_0.2_15_3", "hay_0.3_1", "cell_0.1", "both_0.1_0.1_15")
"""Cases on which the number of components is estimated."""


@dataclass(frozen=True)
class Flagged:
    """A case with outliers: the mean fractions of the outliers and of the inliers that are flagged."""

    case: str
    outliers: float
    inliers: float


def flagged(seeds: range, jobs: int) -> Iterator[Flagged]:
    """Fractions of true outliers and inliers that are flagged by the cutoffs of the samples of the fit."""
    results = batches(in_processes(flagged_rows, product(CLUSTERS, seeds), jobs), len(seeds))
    for case, batch in zip(CLUSTERS, results, strict=True):
        yield Flagged(case, *np.mean(batch, axis=0).tolist())


def flagged_rows(item: tuple[str, int]) -> tuple[float, float]:
    """The fractions of one data set."""
    data = sample(*item)
    try:
        fit = estimator.fit(data.points, estimator.DEFAULT, data.components, seed=item[1])
        found = fit.flags(data.points, own=True).any
    except estimator.FitError as rejected:
        say(f"{item[0]}, seed {item[1]}: {rejected}")
        return np.nan, np.nan
    return float(found[data.outlier].mean()), float(found[~data.outlier].mean())


@dataclass(frozen=True)
class Variance:
    """A case with known variances: the median over seeds of estimated / true, one per component, largest first."""

    case: str
    ratios: list[float]

    @property
    def worst(self) -> float:
        """The largest relative error."""
        return max(abs(ratio - 1) for ratio in self.ratios)


def variances(seeds: range, jobs: int, cases: Iterable[str]) -> Iterator[Variance]:
    """The explained variance relative to the variances of the inliers."""
    cases = list(cases)
    results = batches(in_processes(variance_ratios, product(cases, seeds), jobs), len(seeds))
    for case, batch in zip(cases, results, strict=True):
        yield Variance(case, np.median(batch, axis=0).tolist())


def variance_ratios(item: tuple[str, int]) -> Array:
    """Estimated / true of one data set."""
    data = sample(*item)
    if data.true_variances is None:
        raise ValueError(f"{item[0]} has no true variances")
    try:
        found = estimator.fit(data.points, estimator.DEFAULT, data.components, seed=item[1]).variances
    except estimator.FitError as rejected:
        say(f"{item[0]}, seed {item[1]}: {rejected}")
        return np.full(data.components, np.nan)
    ratios: Array = np.sort(found)[::-1] / data.true_variances
    return ratios


@dataclass(frozen=True)
class Counted:
    """A case under "auto": the true d and the estimate of each seed; 0 stands for a rejected fit."""

    case: str
    true: int
    found: list[int]

    @property
    def right(self) -> int:
        """The number of seeds with the true d."""
        return self.found.count(self.true)

    @property
    def percentage(self) -> float:
        """The percentage of seeds with the true d."""
        return 100 * self.right / len(self.found)


def counted(seeds: range, jobs: int) -> Iterator[Counted]:
    """The number of components that "auto" finds."""
    results = batches(in_processes(count_found, product(COUNTED, seeds), jobs), len(seeds))
    for case, batch in zip(COUNTED, results, strict=True):
        yield Counted(case, sample(case, 0).components, batch)


def count_found(item: tuple[str, int]) -> int:
    """The number of components of one data set."""
    try:
        fit = estimator.fit(sample(*item).points, estimator.DEFAULT, "auto", seed=item[1])
    except estimator.FitError:
        return 0
    return len(fit.components)
