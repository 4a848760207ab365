"""How our time moves with n, with D, with threads, and which solver wins where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contenders import AE, TAE, Bench, Contender
from process import warm
from shapes import Shape


@dataclass
class Series:
    """Krylov fits of AE at doubling sizes."""

    letter: str
    shapes: list[Shape]
    seconds: list[float]
    passes: list[int]

    @property
    def per_pass(self) -> list[float]:
        """Seconds of a pass, the steps between passes included."""
        return [seconds / passes for seconds, passes in zip(self.seconds, self.passes)]

    @property
    def slope(self) -> float:
        """Of the time per pass against the size that doubles, both as logarithms."""
        sizes = [shape.samples if self.letter == "n" else shape.features for shape in self.shapes]
        return float(np.polyfit(np.log(sizes), np.log(self.per_pass), 1)[0])


@dataclass
class Threads:
    """A fit with one thread and with two."""

    contender: Contender
    shape: Shape
    one: float
    two: float

    @property
    def ratio(self) -> float:
        """How many times faster two are."""
        return self.one / self.two


@dataclass
class Choice:
    """A shape and what each solver takes for it."""

    shape: Shape
    seconds: dict[str, float]
    auto: str


def strip(samples: int, features: int) -> Shape:
    """A clip of a size that no paper has."""
    return Shape("strip", samples, features)


def least_of_rounds(bench: Bench, rounds: int, fits: list[tuple[Shape, tuple[str, ...]]]) -> list[tuple[float, dict]]:
    """The least seconds that each fit reports, the fits alternating within a round; with the report."""
    best: list[tuple[float, dict]] = [(float("inf"), {})] * len(fits)
    for shape in {shape: None for shape, _ in fits}:
        warm(shape.file(bench.folder))
    for _ in range(rounds):
        for k, (shape, options) in enumerate(fits):
            report = bench.fit(shape, *options)[1]
            best[k] = min(best[k], (report["seconds"], report), key=lambda pair: pair[0])
    return best


def growth(bench: Bench, rounds: int, scale: int, doublings: int) -> list[Series]:
    """Doubling n at fixed D, then D at fixed n."""
    series = []
    for letter in ("n", "D"):
        factors = [2**k for k in range(doublings + 1)]
        if letter == "n":
            shapes = [strip(2000 * f // scale, 8192 // scale) for f in factors]
        else:
            shapes = [strip(2000 // scale, 8192 * f // scale) for f in factors]
        best = least_of_rounds(bench, rounds, [(shape, (*AE.options, "--solver", "krylov")) for shape in shapes])
        series.append(Series(letter, shapes, [b[0] for b in best], [b[1]["passes"] for b in best]))
    return series


def threads(bench: Bench, rounds: int, shapes: list[Shape]) -> list[Threads]:
    """AE and TAE with one thread and with two."""
    cases = [(contender, shape) for shape in shapes for contender in (AE, TAE)]
    fits = [(shape, (*c.options, "--threads", count)) for c, shape in cases for count in ("1", "2")]
    best = [seconds for seconds, _ in least_of_rounds(bench, rounds, fits)]
    return [Threads(c, shape, best[2 * k], best[2 * k + 1]) for k, (c, shape) in enumerate(cases)]


def choices(bench: Bench, rounds: int, scale: int) -> list[Choice]:
    """Gram against krylov where n grows, scatter against krylov where D does."""
    cases = [(strip(max(50, n // scale), 8192 // scale), ("gram", "krylov")) for n in (250, 500, 1000, 2000, 4000)]
    cases += [(strip(16000 // scale, D), ("scatter", "krylov")) for D in (128, 256, 512, 1024, 2048)]
    found = []
    for shape, solvers in cases:
        best = least_of_rounds(bench, rounds, [(shape, (*AE.options, "--solver", s)) for s in (*solvers, "auto")])
        seconds = {solver: b[0] for solver, b in zip((*solvers, "auto"), best)}
        found.append(Choice(shape, seconds, best[-1][1]["solver"]))
    return found
