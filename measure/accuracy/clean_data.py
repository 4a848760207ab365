"""Flags on data without outliers: samples of the fit and new samples beyond each cutoff."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from measure import estimator
from measure.accuracy.batches import batches
from measure.accuracy.sample import PLANE, orthonormal, plane
from measure.arrays import Array
from measure.parallel import in_processes
from measure.processes import say

SKEW = "skew"
"""The parameter of the class that adjusts cutoffs for skewed features."""


@dataclass(frozen=True)
class Population:
    """Samples without outliers: draws of any number of rows from one distribution."""

    group: str
    title: str
    samples: int
    features: int
    components: int
    draw: Callable[[Generator, int, int], Array]
    """Rows and features to rows."""
    new: int = 2000
    """The number of new samples."""

    @property
    def name(self) -> str:
        """Size, distribution and number of components."""
        return f"{self.samples} x {self.features}, {self.title}, d = {self.components}"


def near_plane(rng: Generator, rows: int, features: int) -> Array:
    """Gaussian scores of three components and Gaussian noise."""
    return plane(rng, rows, orthonormal(rng, features, len(PLANE)), PLANE, noise=0.1)


def slow_decay(rng: Generator, rows: int, features: int) -> Array:
    """Independent Gaussian features with variances 1/j."""
    return np.asarray(rng.standard_normal((rows, features)) / np.sqrt(np.arange(1, features + 1)))


def fast_decay(rng: Generator, rows: int, features: int) -> Array:
    """Independent Gaussian features with variances 0.8^j."""
    return np.asarray(rng.standard_normal((rows, features)) * np.sqrt(0.8 ** np.arange(features)))


def heavy_tails(rng: Generator, rows: int, features: int) -> Array:
    """Elliptical t with 5 degrees of freedom about a subspace of three dimensions."""
    basis = orthonormal(rng, features, len(PLANE))
    points = plane(rng, rows, basis, PLANE, noise=0.3)
    return np.asarray(points / np.sqrt(rng.chisquare(5, rows) / 5)[:, None])


def skewed_scores(rng: Generator, rows: int, features: int) -> Array:
    """Chi-square scores (3 degrees of freedom) of three components and Gaussian noise."""
    basis = orthonormal(rng, features, len(PLANE))
    scores = (rng.chisquare(3, (rows, len(PLANE))) - 3) / np.sqrt(6) * PLANE
    return np.asarray(scores @ basis.T + 0.1 * rng.standard_normal((rows, features)))


def skewed_features(rng: Generator, rows: int, features: int) -> Array:
    """Independent chi-square features (3 degrees of freedom) with variances 1/j."""
    return np.asarray((rng.chisquare(3, (rows, features)) - 3) / np.sqrt(6 * np.arange(1, features + 1)))


def lognormal(rng: Generator, rows: int, features: int) -> Array:
    """Log-normal features with logarithms near a plane."""
    return np.asarray(np.exp(0.6 * near_plane(rng, rows, features) / PLANE[0]))


def random_bits(rng: Generator, rows: int, features: int) -> Array:
    """Independent fair bits."""
    return rng.integers(0, 2, (rows, features)).astype(float)


def rare_counts(rng: Generator, rows: int, features: int) -> Array:
    """Poisson counts of mean 0.05."""
    return rng.poisson(0.05, (rows, features)).astype(float)


def one_hot(rng: Generator, rows: int, features: int) -> Array:
    """A category of five levels as five bits, beside continuous features near a subspace."""
    levels = np.eye(5)[rng.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    return np.hstack([levels, near_plane(rng, rows, features - 5)])


POPULATIONS = (
    Population("n200", "near a subspace", 200, 30, 3, near_plane),
    Population("n200", "variances 1/j", 200, 30, 3, slow_decay),
    Population("n60", "near a subspace", 60, 30, 3, near_plane),
    Population("n60", "variances 1/j", 60, 30, 3, slow_decay),
    Population("wide", "near a subspace", 200, 2000, 3, near_plane, new=200),
    Population("wide", "near a subspace", 50, 1000, 3, near_plane, new=200),
    Population("large", "variances 1/j", 500, 5, 2, slow_decay),
    Population("large", "variances 0.8^j", 500, 5, 2, fast_decay),
    Population("large", "variances 1/j", 2000, 50, 2, slow_decay),
    Population("large", "variances 0.8^j", 2000, 50, 5, fast_decay),
    Population("discrete", "random bits", 1000, 3, 2, random_bits),
    Population("discrete", "Poisson counts of mean 0.05", 500, 30, 2, rare_counts),
    Population("discrete", "one-hot beside continuous", 500, 15, 3, one_hot),
    Population("t5", "t with 5 degrees of freedom", 200, 30, 3, heavy_tails),
    Population("skewed", "chi-square scores", 200, 30, 3, skewed_scores),
    Population("skewed", "chi-square features", 200, 10, 3, skewed_features),
    Population("skewed", "log-normal features", 200, 10, 2, lognormal),
)
"""Data without outliers; targets are set by group."""


@dataclass(frozen=True)
class Flagged:
    """Mean fractions of the samples of a population that are flagged, for the samples of the fit and for new ones."""

    population: Population
    skew: bool
    """Whether the option for skewed features was given."""
    score: tuple[float, float]
    """Beyond the score cutoff: own and new samples."""
    orthogonal: tuple[float, float]
    """Beyond the orthogonal cutoff: own and new samples."""
    rows: tuple[float, float]
    """Beyond either cutoff: own and new samples."""

    @property
    def largest(self) -> float:
        """The largest fraction beyond one cutoff; NaN if a fit was rejected."""
        return float(np.max([self.score, self.orthogonal]))

    @property
    def largest_rows(self) -> float:
        """The largest fraction beyond either cutoff; NaN if a fit was rejected."""
        return float(np.max(self.rows))


def flagged(seeds: range, jobs: int, populations: Sequence[Population] = POPULATIONS) -> Iterator[Flagged]:
    """Fractions of flagged samples of all populations; skewed ones also with the option, if the package has it."""
    runs = [(population, False) for population in populations]
    if not estimator.lacks(options=[SKEW]):
        runs += [(population, True) for population in populations if population.group == "skewed"]
    # Functions of populations cannot be sent to another process, so their index is.
    items = [(POPULATIONS.index(population), skew, seed) for population, skew in runs for seed in seeds]
    results = batches(in_processes(partial(fractions), items, jobs), len(seeds))
    for (population, skew), batch in zip(runs, results, strict=True):
        (score, orthogonal, rows) = np.mean(batch, axis=0).tolist()
        yield Flagged(population, skew, own_and_new(score), own_and_new(orthogonal), own_and_new(rows))


def own_and_new(pair: Sequence[float]) -> tuple[float, float]:
    """A fraction of the samples of the fit, and one of new samples."""
    own, new = pair
    return own, new


def fractions(item: tuple[int, bool, int]) -> Array:
    """Fractions beyond the score cutoff, the orthogonal cutoff and either; own and new samples."""
    index, skew, seed = item
    population = POPULATIONS[index]
    rng = np.random.default_rng([zlib.crc32(population.name.encode()), seed])
    points = population.draw(rng, population.samples + population.new, population.features)
    own, new = points[: population.samples], points[population.samples :]
    options = {SKEW: True} if skew else {}
    try:
        fit = estimator.fit(own, estimator.DEFAULT, population.components, seed=seed, **options)
        own_flags, new_flags = fit.flags(own, own=True), fit.flags(new, own=False)
    except estimator.FitError as rejected:
        say(f"{population.name}, seed {seed}: {rejected}")
        return np.full((3, 2), np.nan)
    return np.array(
        [
            [own_flags.score.mean(), new_flags.score.mean()],
            [own_flags.orthogonal.mean(), new_flags.orthogonal.mean()],
            [own_flags.any.mean(), new_flags.any.mean()],
        ]
    )
