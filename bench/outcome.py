"""Everything that a run of the benchmark found, and the comparisons drawn from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from baselines import Baseline
from contenders import AE, TAE, Result
from growth import Choice, Series, Threads
from shapes import Shape

Results = dict[str, Result]
"""By the contender's name."""


@dataclass
class Outcome:
    """What was measured, in how many rounds at least; sections that were left out are empty."""

    shapes: list[Shape]
    rounds: int
    results: dict[str, Results]
    limits: dict[int, dict[str, float]] = field(default_factory=dict)
    growth: list[Series] = field(default_factory=list)
    threads: list[Threads] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    baselines: list[Baseline] = field(default_factory=list)
    kernels: dict[str, dict[int, float]] = field(default_factory=dict)
    """Items a second of our micro-benchmarks, by name and threads."""

    def contender_names(self) -> list[str]:
        """All that were measured anywhere, in order."""
        return list({name: None for results in self.results.values() for name in results})

    def fastest_peer(self, shape: Shape, problem: str) -> Result | None:
        """The fastest by-hand peer that is accurate."""
        results = self.results[shape.name].values()
        peers = [r for r in results if not r.contender.ours and r.contender.problem == problem]
        return min((r for r in peers if r.counts), key=lambda r: r.seconds, default=None)

    def ratio(self, shape: Shape, problem: str, peer: str | None = None) -> float | None:
        """How many times longer a peer takes than we do, both from before the file is opened until components are there.

        The peer is the fastest accurate one unless named. None when there is none, or when our answer is not certified.
        """
        results = self.results[shape.name]
        ours = results[(AE if problem == "ae" else TAE).name]
        other = results.get(peer) if peer else self.fastest_peer(shape, problem)
        if other is None or not ours.counts or other.failed:
            return None
        return other.seconds / ours.own_seconds

    def shape(self, name: str) -> Shape | None:
        """A shape by the first part of its name."""
        return next((shape for shape in self.shapes if shape.name.split("-")[0] == name), None)
