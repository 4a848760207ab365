"""Bad and missing cells: which are found, and the error of expected values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from measure import estimator
from measure.accuracy.batches import batches
from measure.accuracy.cases import KNOWN, kind_of, sample
from measure.parallel import in_processes
from measure.processes import say

BAD_CELLS = tuple(case for case in KNOWN if kind_of(case) == "cell")
MISSING = 0.2
"""The fraction of missing cells, at random."""
COMPLETE = {"cell_0": 0.05, "clu_0_15_3": 0.1}
"""Clean cases with the standard deviation of their noise."""
RECONSTRUCTED, NOISE = "cell_0.1", 0.05


@dataclass(frozen=True)
class Detected:
    """A case with bad cells: mean fractions of the bad and of the other cells that are flagged."""

    case: str
    bad: float
    good: float


def detected(seeds: range, jobs: int) -> Iterator[Detected]:
    """Flags of cells under cellwise contamination."""
    items = [(case, seed) for case in BAD_CELLS for seed in seeds]
    results = batches(in_processes(flagged_cells, items, jobs), len(seeds))
    for case, batch in zip(BAD_CELLS, results, strict=True):
        yield Detected(case, *np.mean(batch, axis=0).tolist())


def flagged_cells(item: tuple[str, int]) -> tuple[float, float]:
    """Fractions of the bad and of the other cells of one data set that are flagged."""
    name, seed = item
    data = sample(name, seed)
    try:
        fit = estimator.fit(data.points, estimator.DEFAULT, data.components, seed=seed)
        flags = fit.bad_cells(data.points, own=True)
    except estimator.FitError as rejected:
        return nothing(item, rejected)
    return float(flags[data.bad_cells].mean()), float(flags[~data.bad_cells].mean())


@dataclass(frozen=True)
class Filled:
    """A clean case with missing cells: the error of filled cells."""

    case: str
    error: float
    """Root mean squared error of the filled cells, in standard deviations of the noise; median over seeds."""


def filled(seeds: range, jobs: int) -> Iterator[Filled]:
    """Errors of filled cells."""
    items = [(case, seed) for case in COMPLETE for seed in seeds]
    results = batches(in_processes(fill_error, items, jobs), len(seeds))
    for case, batch in zip(COMPLETE, results, strict=True):
        yield Filled(case, float(np.median(batch)))


def fill_error(item: tuple[str, int]) -> float:
    """The error of filled cells of one data set."""
    name, seed = item
    data = sample(name, seed)
    missing = np.random.default_rng(seed).random(data.points.shape) < MISSING
    observed = np.where(missing, np.nan, data.points)
    try:
        fit = estimator.fit(observed, estimator.DEFAULT, data.components, seed=seed)
        found = fit.filled(observed)
    except estimator.FitError as rejected:
        return nothing(item, rejected)[0]
    return float(np.sqrt(np.mean((found - data.points)[missing] ** 2))) / COMPLETE[name]


@dataclass(frozen=True)
class Reconstructed:
    """Mean squared errors that bad cells add to reconstructions of good cells, relative to the variance of the noise.

    The error is the difference from the reconstruction of the data without bad cells by the same model; median over
    seeds.
    """

    robust: float
    """With the scores of the package."""
    projected: float
    """With orthogonal projection onto the same subspace, for comparison."""


def reconstructed(seeds: range, jobs: int) -> Reconstructed:
    """Errors in the good cells of reconstructions of data with bad cells."""
    errors = in_processes(reconstruction_errors, [(RECONSTRUCTED, seed) for seed in seeds], jobs)
    return Reconstructed(*np.median(list(errors), axis=0).tolist())


def reconstruction_errors(item: tuple[str, int]) -> tuple[float, float]:
    """The errors of one data set."""
    name, seed = item
    data = sample(name, seed)
    try:
        fit = estimator.fit(data.points, estimator.DEFAULT, data.components, seed=seed)
        robust = fit.reconstructed(data.points) - fit.reconstructed(data.clean_points)
    except estimator.FitError as rejected:
        return nothing(item, rejected)
    q = fit.components
    projected = (data.points - data.clean_points) @ q.T @ q
    first, second = (np.mean(error[~data.bad_cells] ** 2) / NOISE**2 for error in (robust, projected))
    return float(first), float(second)


def nothing(item: tuple[str, int], rejected: estimator.FitError) -> tuple[float, float]:
    """NaN for a rejected fit, which meets no target."""
    say(f"{item[0]}, seed {item[1]}: {rejected}")
    return np.nan, np.nan
