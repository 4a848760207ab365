"""The time of fits against n, D, the number of threads and the solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from measure.files import warm
from measure.matrices import Shape
from measure.program import value
from measure.speed.competitors import AE, TAE, Bench, Competitor


@dataclass
class Series:
    """Krylov fits of AE at doubling sizes."""

    letter: str
    shapes: list[Shape]
    seconds: list[float]
    passes: list[int]

    @property
    def per_pass(self) -> list[float]:
        """Seconds per pass, with the steps between passes."""
        return [seconds / passes for seconds, passes in zip(self.seconds, self.passes, strict=True)]

    @property
    def slope(self) -> float:
        """The slope of the log time per pass on the log of the size that doubles."""
        sizes = [shape.samples if self.letter == "n" else shape.features for shape in self.shapes]
        return float(np.polyfit(np.log(sizes), np.log(self.per_pass), 1)[0])


@dataclass
class Threads:
    """Seconds of a fit with one thread and with two."""

    competitor: Competitor
    shape: Shape
    one: float
    two: float

    @property
    def ratio(self) -> float:
        """The speedup by the second thread."""
        return self.one / self.two


@dataclass
class Choice:
    """Seconds of each solver on a matrix, and the solver that `auto` selects."""

    shape: Shape
    seconds: dict[str, float]
    auto: str


def strip(samples: int, features: int) -> Shape:
    """A clip of any size."""
    return Shape("strip", samples, features)


def fastest(bench: Bench, runs: int, fits: list[tuple[Shape, tuple[str, ...]]]) -> list[tuple[float, dict[str, Any]]]:
    """The minimum of the seconds that each fit reports, and its report; the fits are run alternately."""
    best: list[tuple[float, dict[str, Any]]] = [(float("inf"), {})] * len(fits)
    for shape in {shape: None for shape, _ in fits}:
        warm(shape.file(bench.folder))
    for _ in range(runs):
        for k, (shape, options) in enumerate(fits):
            report = bench.fit(shape, *options)[1]
            best[k] = min(best[k], (value(report, "seconds"), report), key=lambda pair: pair[0])
    return best


def growth(bench: Bench, runs: int, scale: int, doublings: int) -> list[Series]:
    """Doubling n at fixed D, then D at fixed n."""
    series = []
    for letter in ("n", "D"):
        factors = [2**k for k in range(doublings + 1)]
        if letter == "n":
            shapes = [strip(2000 * f // scale, 8192 // scale) for f in factors]
        else:
            shapes = [strip(2000 // scale, 8192 * f // scale) for f in factors]
        best = fastest(bench, runs, [(shape, (*AE.options, "--solver", "krylov")) for shape in shapes])
        series.append(Series(letter, shapes, [b[0] for b in best], [value(b[1], "passes") for b in best]))
    return series


def threads(bench: Bench, runs: int, shapes: list[Shape]) -> list[Threads]:
    """AE and TAE with one thread and with two."""
    cases = [(competitor, shape) for shape in shapes for competitor in (AE, TAE)]
    fits = [(shape, (*c.options, "--threads", count)) for c, shape in cases for count in ("1", "2")]
    best = [seconds for seconds, _ in fastest(bench, runs, fits)]
    return [Threads(c, shape, best[2 * k], best[2 * k + 1]) for k, (c, shape) in enumerate(cases)]


def choices(bench: Bench, runs: int, scale: int) -> list[Choice]:
    """Gram against krylov for growing n, scatter against krylov for growing D."""
    cases = [(strip(max(50, n // scale), 8192 // scale), ("gram", "krylov")) for n in (250, 500, 1000, 2000, 4000)]
    cases += [(strip(16000 // scale, features), ("scatter", "krylov")) for features in (128, 256, 512, 1024, 2048)]
    found = []
    for shape, solvers in cases:
        best = fastest(bench, runs, [(shape, (*AE.options, "--solver", s)) for s in (*solvers, "auto")])
        seconds = {solver: b[0] for solver, b in zip((*solvers, "auto"), best, strict=True)}
        found.append(Choice(shape, seconds, value(best[-1][1], "solver")))
    return found
