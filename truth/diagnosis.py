"""Whether cutoffs, flags, variances and the number of components are right where the truth is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from models import CASES, sample
from program import Flags, Program, Refused, together, with_file

METHOD = "robust"

SHAPES = ((500, 5), (2000, 50))
COMPONENTS = (2, 5)
SCALES = (1e-6, 1.0, 1e6)
SPECTRA = {
    "1/j": lambda features: 1 / np.arange(1, features + 1),
    "0.8^j": lambda features: 0.8 ** np.arange(features),
}
"""Variances of the features of clean data: a slow decay and a fast one."""

CLUSTERS = tuple(case for case in CASES if case.startswith("clu_"))
CLEAN = ("clu_0_15_3", "low_0_6_1", "high_0_6_1")
DIRTY = ("clu_0.2_15_3", "lin_0.2_15_3", "shift_0.2_1000", "low_0.2_12_1", "high_0.2_20_1")
"""Cases whose true variances are known; 20 % outliers in the second group."""
COUNTED = ("clu_0_15_3", "hay_0_1", "clu_0.3_15_3", "lin_0.2_15_3", "hay_0.3_1")
"""Cases whose number of components is to be found."""


@dataclass(frozen=True)
class Calibration:
    """Clean Gaussian data of one kind: mean shares of samples within each cutoff."""

    samples: int
    features: int
    components: int
    scale: float
    spectrum: str
    within_score: float
    within_orthogonal: float | None
    """None where d reaches the rank: nothing is orthogonal to the subspace."""


def clean(n: int, features: int, spectrum: str, scale: float, seed: int) -> np.ndarray:
    """Clean Gaussian data; the same numbers at every scale but for that factor."""
    rng = np.random.default_rng([n, features, list(SPECTRA).index(spectrum), seed])
    return rng.standard_normal((n, features)) * np.sqrt(SPECTRA[spectrum](features)) * scale


def calibration(program: Program, seeds: int) -> Iterator[Calibration]:
    """Shares within the cutoffs on clean data."""

    def one(item: tuple) -> tuple[float, float]:
        ((n, features), components, scale, spectrum), seed = item

        def flags(path: Path) -> Flags:
            return program.flags(program.fit(path, METHOD, components, seed=seed), path)

        found = with_file(clean(n, features, spectrum, scale, seed), flags)
        return found.within_score.mean(), found.within_orthogonal.mean()

    kinds = list(product(SHAPES, COMPONENTS, SCALES, SPECTRA))
    shares = together(one, product(kinds, range(seeds)))
    for kind, part in zip(kinds, batches(shares, seeds)):
        (n, features), components, scale, spectrum = kind
        score, orthogonal = np.mean(part, axis=0)
        shown = None if components >= features else float(orthogonal)
        yield Calibration(n, features, components, scale, spectrum, float(score), shown)


@dataclass(frozen=True)
class Caught:
    """A case with outliers: the mean share of them that is flagged, and of the good rows that is flagged."""

    case: str
    outliers: float
    good: float


def caught(program: Program, seeds: int, cases: Iterable[str] = CLUSTERS) -> Iterator[Caught]:
    """Whether the true outliers are flagged."""

    def one(item: tuple[str, int]) -> tuple[float, float]:
        data = sample(*item)

        def flagged(path: Path) -> np.ndarray:
            fit = program.fit(path, METHOD, data.components, seed=item[1])
            return program.flags(fit, path).flag != "regular"

        found = with_file(data.points, flagged)
        return found[data.outlier].mean(), found[~data.outlier].mean()

    cases = list(cases)
    for case, part in zip(cases, batches(together(one, product(cases, range(seeds))), seeds)):
        yield Caught(case, *map(float, np.mean(part, axis=0)))


@dataclass(frozen=True)
class Variances:
    """A case with known variances: the median over seeds of found / true, one per component, largest first."""

    case: str
    ratios: list[float]

    @property
    def worst(self) -> float:
        """How far the worst ratio is from 1."""
        return max(abs(ratio - 1) for ratio in self.ratios)


def variances(program: Program, seeds: int, cases: Iterable[str]) -> Iterator[Variances]:
    """Whether `variances` are those of the good rows."""

    def one(item: tuple[str, int]) -> np.ndarray:
        data = sample(*item)
        fit = with_file(data.points, lambda path: program.fit(path, METHOD, data.components, seed=item[1]))
        # Components are ordered by share, and variances need not fall with it.
        return np.sort(fit.report["variances"])[::-1] / data.variances

    cases = list(cases)
    for case, part in zip(cases, batches(together(one, product(cases, range(seeds))), seeds)):
        yield Variances(case, list(map(float, np.median(part, axis=0))))


@dataclass(frozen=True)
class Counted:
    """A case under `-d auto`: the true d and what each seed found; 0 stands for a refusal."""

    case: str
    true: int
    found: list[int]

    @property
    def right(self) -> int:
        """Seeds that found the true d."""
        return self.found.count(self.true)


def counted(program: Program, seeds: int) -> Iterator[Counted]:
    """Whether `-d auto` finds the number of components."""

    def one(item: tuple[str, int]) -> int:
        data = sample(*item)
        try:
            fit = with_file(data.points, lambda path: program.fit(path, METHOD, "auto", seed=item[1]))
        except Refused:
            return 0
        return fit.report["n_components"]

    for case, part in zip(COUNTED, batches(together(one, product(COUNTED, range(seeds))), seeds)):
        yield Counted(case, sample(case, 0).components, part)


def batches(items: Iterable, size: int) -> Iterator[list]:
    """Groups of `size`, in order."""
    items = iter(items)
    while batch := [item for _, item in zip(range(size), items)]:
        yield batch
