"""The baselines of steradian beside NumPy implementations of the same methods."""

from __future__ import annotations

import json
from dataclasses import dataclass

from measure.files import warm
from measure.matrices import Shape
from measure.processes import child
from measure.program import value
from measure.speed.competitors import Bench

TITLES = {
    "tga": "TGA at 50 %, NumPy with np.partition",
    "tga-tuned": "TGA at 50 %, NumPy in f32, samples of a feature contiguous",
    "pcp": "PCP, NumPy, inexact ALM with full SVDs",
}


@dataclass
class Baseline:
    """A method in steradian and in NumPy, to the same tolerance."""

    name: str
    shape: Shape
    seconds: float
    steps: int
    numpy_seconds: float
    numpy_steps: int

    @property
    def ratio(self) -> float:
        """The speedup of steradian over NumPy."""
        return self.numpy_seconds / self.seconds


def baselines(bench: Bench, shape: Shape, runs: int) -> list[Baseline]:
    """All methods: steradian the minimum of some runs, NumPy one run, since it takes minutes."""
    path = shape.file(bench.folder)
    warm(path)
    found = []
    for name in TITLES:
        fits = [bench.fit(shape, "--method", name.split("-")[0])[1] for _ in range(runs)]
        other = child("speed.baseline_child", name, path, shape.components)
        steps = value(json.loads(bench.program.run("inspect", bench.model, "--json")), "iterations")
        seconds = min(value(fit, "seconds") for fit in fits)
        found.append(Baseline(name, shape, seconds, sum(steps), other["seconds"], other["steps"]))
    return found
