"""The implementations that are compared, and one measurement of each."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np

from measure.angles import largest_sine
from measure.arrays import Array
from measure.matrices import Shape
from measure.processes import child, module, say, timed
from measure.program import Program, value
from measure.resident import watch
from measure.speed.numpy_methods import METHODS

ACCURATE = 2e-5
"""Largest sine at which a NumPy implementation counts as accurate; f32 does not allow much less."""
CERTIFIED = 1e-6
"""Largest sine_bound at which a fit of steradian counts as accurate."""


@dataclass(frozen=True)
class Competitor:
    """An implementation: steradian if it has options, else one of `numpy_methods`."""

    name: str
    problem: str
    options: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether it is steradian."""
        return bool(self.options)


AE = Competitor("steradian ae", "ae", ("--method", "ae"))
TAE = Competitor("steradian tae", "tae", ("--method", "tae"))
OURS = {"ae": AE, "tae": TAE}
OTHERS = tuple(Competitor(name, name.split("-")[0]) for name in METHODS)
TITLES = {
    "ae-svds": "AE, NumPy + scipy.sparse.linalg.svds",
    "ae-gram-eigh": "AE, NumPy Gram matrix + scipy.linalg.eigh",
    "ae-gram-eigsh": "AE, NumPy Gram matrix + scipy.sparse.linalg.eigsh",
    "ae-randomized": "AE, NumPy + sklearn randomized_svd",
    "tae-eigh": "TAE, NumPy + scipy.linalg.eigh",
    "tae-eigsh": "TAE, NumPy + scipy.sparse.linalg.eigsh",
    "pca-randomized": "scikit-learn PCA, randomized (classical PCA)",
    "pca-arpack": "scikit-learn PCA, arpack (classical PCA)",
}


def with_solver(competitor: Competitor, solver: str) -> Competitor:
    """A fit of steradian with a given solver."""
    return Competitor(f"{competitor.name} {solver}", competitor.problem, (*competitor.options, "--solver", solver))


@dataclass
class Result:
    """The measurements of a competitor on a matrix; times are minima over the runs."""

    competitor: Competitor
    seconds: float = float("inf")
    """From opening the file to the components; for steradian as it reports it."""
    wall_seconds: float | None = None
    """Wall time of the whole process; steradian only."""
    peak_mib: float = float("nan")
    sines: list[float] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    failed: bool = False

    @property
    def sine(self) -> float | None:
        """The true sine, the median over the runs: some implementations start at random."""
        return median_low(self.sines) if self.sines else None

    @property
    def sine_bound(self) -> float:
        """The bound on the sine that steradian reports."""
        return float(value(self.report, "sine_bound"))

    @property
    def accurate(self) -> bool:
        """Whether it is accurate enough to be compared."""
        if self.failed or self.sine is None:
            return False
        return self.sine_bound <= CERTIFIED if self.competitor.ours else self.sine <= ACCURATE


class Bench:
    """The program, and the folder of matrices, exact components and scratch files."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = Program(program)
        self.folder = folder
        self.model = folder / "model.safetensors"
        folder.mkdir(parents=True, exist_ok=True)

    def fit_command(self, shape: Shape, options: tuple[str, ...]) -> list[str]:
        """The command of a fit."""
        cone = ("--max-angle", str(shape.degrees)) if "tae" in options else ()
        return self.program.fit_command(shape.file(self.folder), self.model, "-d", shape.components, *options, *cone)

    def fit(self, shape: Shape, *options: str) -> tuple[float, dict[str, Any]]:
        """The wall time of the process of a fit, and its report."""
        seconds, printed = timed(self.fit_command(shape, options))
        return seconds, json.loads(printed)

    def exact(self, shape: Shape, problem: str) -> Array:
        """The exact components, which are computed if they are missing."""
        matrix = shape.file(self.folder)
        stem = f"exact-{matrix.stem}-{shape.components}-{shape.degrees}"
        paths = {name: self.folder / f"{stem}-{name}.npy" for name in OURS}
        if not all(path.exists() for path in paths.values()):
            timed(module("speed.exact", matrix, shape.components, shape.degrees, *paths.values()))
        components: Array = np.load(paths[problem])
        return components

    def measure(self, result: Result, shape: Shape) -> None:
        """Runs the competitor once and adds the measurement."""
        try:
            (self._measure_ours if result.competitor.ours else self._measure_other)(result, shape)
        except subprocess.CalledProcessError as error:
            say(f"{result.competitor.name} on {shape.name} ended with exit code {error.returncode}")
            result.failed = True

    def _measure_ours(self, result: Result, shape: Shape) -> None:
        first = not result.report
        wall, result.report = self.fit(shape, *result.competitor.options)
        result.seconds = min(result.seconds, value(result.report, "seconds"))
        result.wall_seconds = min(result.wall_seconds or float("inf"), wall)
        if first:
            # Fits are bitwise reproducible, so one export and one measurement of the memory are enough.
            components = self.folder / "components.npy"
            timed([str(self.program.path), "export", str(self.model), "-o", str(components)])
            result.sines.append(largest_sine(np.load(components), self.exact(shape, result.competitor.problem)))
            result.peak_mib, _ = watch(self.fit_command(shape, result.competitor.options), interval=0.001, quiet=True)

    def _measure_other(self, result: Result, shape: Shape) -> None:
        components, competitor = self.folder / "components.npy", result.competitor
        settings = (shape.file(self.folder), shape.components, shape.degrees)
        report = child("speed.numpy_child", competitor.name, *settings, components)
        result.seconds = min(result.seconds, report["seconds"])
        result.peak_mib = report["peak_mib"]
        if competitor.problem != "pca":
            result.sines.append(largest_sine(np.load(components), self.exact(shape, competitor.problem)))
