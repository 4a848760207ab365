"""Cutoffs, flags, explained variance and the number of components on data with known ground truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TypeVar

import numpy as np

from measure.accuracy.models import CASES, sample
from measure.arrays import Array
from measure.files import with_matrix
from measure.program import Flags, Program, ProgramError, in_parallel, value

T = TypeVar("T")
METHOD = "robust"

SHAPES = ((500, 5), (2000, 50))
COMPONENTS = (2, 5)
SCALES = (1e-6, 1.0, 1e6)
SPECTRA: dict[str, Callable[[int], Array]] = {
    "1/j": lambda features: 1 / np.arange(1, features + 1),
    "0.8^j": lambda features: 0.8 ** np.arange(features),
}
"""Variances of the features of clean data: a slow decay and a fast one."""

CLUSTERS = tuple(case for case in CASES if case.startswith("clu_"))
CLEAN = ("clu_0_15_3", "low_0_6_1", "high_0_6_1")
OUTLIERS = ("clu_0.2_15_3", "lin_0.2_15_3", "shift_0.2_1000", "low_0.2_12_1", "high_0.2_20_1")
"""Cases with known variances; 20 % outliers in the second group."""
COUNTED = ("clu_0_15_3", "hay_0_1", "clu_0.3_15_3", "lin_0.2_15_3", "hay_0.3_1")
"""Cases on which the number of components is estimated."""

Kind = tuple[tuple[int, int], int, float, str]
"""A kind of clean data: n and D, number of components, scale, spectrum."""


@dataclass(frozen=True)
class Calibration:
    """Clean Gaussian data of one kind: mean fractions of samples within each cutoff."""

    samples: int
    features: int
    components: int
    scale: float
    spectrum: str
    within_score: float
    within_orthogonal: float | None
    """None if d reaches the rank: the subspace spans the data."""


def clean(n: int, features: int, spectrum: str, scale: float, seed: int) -> Array:
    """Clean Gaussian data; the same numbers at every scale except for that factor."""
    rng = np.random.default_rng([n, features, list(SPECTRA).index(spectrum), seed])
    return rng.standard_normal((n, features)) * np.sqrt(SPECTRA[spectrum](features)) * scale


def calibration(program: Program, seeds: int) -> Iterator[Calibration]:
    """Fractions within the cutoffs on clean data."""

    def one(item: tuple[Kind, int]) -> tuple[float, float]:
        ((n, features), components, scale, spectrum), seed = item

        def flags(path: Path) -> Flags:
            return program.flags(program.fit(path, METHOD, components, seed=seed), path)

        found = with_matrix(clean(n, features, spectrum, scale, seed), flags)
        return found.within_score.mean(), found.within_orthogonal.mean()

    kinds: list[Kind] = list(product(SHAPES, COMPONENTS, SCALES, SPECTRA))
    fractions = in_parallel(one, product(kinds, range(seeds)))
    for kind, batch in zip(kinds, batches(fractions, seeds), strict=True):
        (n, features), components, scale, spectrum = kind
        score, orthogonal = np.mean(batch, axis=0)
        shown = None if components >= features else float(orthogonal)
        yield Calibration(n, features, components, scale, spectrum, float(score), shown)


@dataclass(frozen=True)
class Flagged:
    """A case with outliers: the mean fractions of the outliers and of the inliers that are flagged."""

    case: str
    outliers: float
    inliers: float


def flagged(program: Program, seeds: int, cases: Iterable[str] = CLUSTERS) -> Iterator[Flagged]:
    """Fractions of true outliers and inliers that are flagged."""

    def one(item: tuple[str, int]) -> tuple[float, float]:
        data = sample(*item)

        def flags(path: Path) -> Array:
            fit = program.fit(path, METHOD, data.components, seed=item[1])
            return np.asarray(program.flags(fit, path).flag != "regular")

        found = with_matrix(data.points, flags)
        return found[data.outlier].mean(), found[~data.outlier].mean()

    cases = list(cases)
    results = batches(in_parallel(one, product(cases, range(seeds))), seeds)
    for case, batch in zip(cases, results, strict=True):
        yield Flagged(case, *map(float, np.mean(batch, axis=0)))


@dataclass(frozen=True)
class Variance:
    """A case with known variances: the median over seeds of estimated / true, one per component, largest first."""

    case: str
    ratios: list[float]

    @property
    def worst(self) -> float:
        """The largest relative error."""
        return max(abs(ratio - 1) for ratio in self.ratios)


def variances(program: Program, seeds: int, cases: Iterable[str]) -> Iterator[Variance]:
    """The explained variance relative to the variances of the inliers."""

    def one(item: tuple[str, int]) -> Array:
        data = sample(*item)
        if data.true_variances is None:
            raise ValueError(f"{item[0]} has no true variances")
        fit = with_matrix(data.points, lambda path: program.fit(path, METHOD, data.components, seed=item[1]))
        # Components are ordered by angular eigenvalue, and variances need not have that order.
        ratios: Array = np.sort(value(fit.report, "explained_variance"))[::-1] / data.true_variances
        return ratios

    cases = list(cases)
    results = batches(in_parallel(one, product(cases, range(seeds))), seeds)
    for case, batch in zip(cases, results, strict=True):
        yield Variance(case, list(map(float, np.median(batch, axis=0))))


@dataclass(frozen=True)
class Counted:
    """A case under `-d auto`: the true d and the estimate of each seed; 0 stands for a rejected fit."""

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


def counted(program: Program, seeds: int) -> Iterator[Counted]:
    """The number of components that `-d auto` finds."""

    def one(item: tuple[str, int]) -> int:
        data = sample(*item)
        try:
            fit = with_matrix(data.points, lambda path: program.fit(path, METHOD, "auto", seed=item[1]))
        except ProgramError:
            return 0
        return int(value(fit.report, "n_components"))

    results = batches(in_parallel(one, product(COUNTED, range(seeds))), seeds)
    for case, batch in zip(COUNTED, results, strict=True):
        yield Counted(case, sample(case, 0).components, batch)


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Consecutive groups of `size` items."""
    items = iter(items)
    while batch := [item for _, item in zip(range(size), items, strict=False)]:
        yield batch
