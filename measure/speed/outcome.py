"""The measurements of a run, and the comparisons drawn from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from measure.matrices import Shape
from measure.speed.baselines import Baseline
from measure.speed.competitors import OURS, Result
from measure.speed.growth import Choice, Series, Threads

Results = dict[str, Result]
"""Results by the name of the competitor."""


@dataclass
class Outcome:
    """The measurements; parts that were not run are empty."""

    shapes: list[Shape]
    runs: int
    """The smallest number of runs per competitor."""
    results: dict[str, Results]
    limits: dict[int, dict[str, float]] = field(default_factory=dict)
    growth: list[Series] = field(default_factory=list)
    threads: list[Threads] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    baselines: list[Baseline] = field(default_factory=list)
    kernels: dict[str, dict[int, float]] = field(default_factory=dict)
    """Items per second of the micro-benchmarks, by name and threads."""

    def names(self) -> list[str]:
        """The names of all competitors, in order."""
        return list({name: None for results in self.results.values() for name in results})

    def ours(self, shape: Shape, problem: str) -> Result:
        """The result of steradian."""
        return self.results[shape.name][OURS[problem].name]

    def fastest_other(self, shape: Shape, problem: str) -> Result | None:
        """The fastest accurate NumPy implementation."""
        results = self.results[shape.name].values()
        others = [r for r in results if not r.competitor.ours and r.competitor.problem == problem]
        return min((r for r in others if r.accurate), key=lambda r: r.seconds, default=None)

    def ratio(self, shape: Shape, problem: str, name: str | None = None) -> float | None:
        """The speedup of steradian, both times from opening the file to the components.

        It is relative to the fastest accurate implementation, or to a named one. None if there is none, or if
        the fit of steradian is not certified.
        """
        ours = self.ours(shape, problem)
        other = self.results[shape.name].get(name) if name else self.fastest_other(shape, problem)
        if other is None or not ours.accurate or other.failed:
            return None
        return other.seconds / ours.seconds

    def shape(self, family: str) -> Shape | None:
        """The matrix of a family, if it was measured."""
        return next((shape for shape in self.shapes if shape.family == family), None)
