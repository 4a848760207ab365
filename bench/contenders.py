"""Who is measured, and one measurement of each."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low

import numpy as np

import exact
from process import python, timed
from shapes import Shape

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
from resident import watch  # kept beside the script that also uses it

ACCURATE = 2e-5
"""A peer counts as accurate up to this sine; f32 does not allow much less."""
CERTIFIED = 1e-6
"""Ours counts when the bound it reports is at most this."""


@dataclass(frozen=True)
class Contender:
    """A way to get components: one of ours when it has options, else a peer."""

    name: str
    problem: str
    options: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether it is steradian."""
        return bool(self.options)


AE = Contender("steradian ae", "ae", ("--method", "ae"))
TAE = Contender("steradian tae", "tae", ("--method", "tae"))
PEERS = tuple(
    Contender(name, name.split("-")[0])
    for name in (
        "ae-svds",
        "ae-gram-eigh",
        "ae-gram-eigsh",
        "ae-randomized",
        "tae-eigh",
        "tae-eigsh",
        "pca-randomized",
        "pca-arpack",
    )
)
TITLES = {
    "ae-svds": "AE by hand: numpy + scipy svds",
    "ae-gram-eigh": "AE by hand: numpy Gram + eigh",
    "ae-gram-eigsh": "AE by hand: numpy Gram + eigsh",
    "ae-randomized": "AE by hand: numpy + randomized_svd",
    "tae-eigh": "TAE by hand: numpy + eigh",
    "tae-eigsh": "TAE by hand: numpy + eigsh",
    "pca-randomized": "scikit-learn PCA randomized (another problem)",
    "pca-arpack": "scikit-learn PCA arpack (another problem)",
}


def with_solver(contender: Contender, solver: str) -> Contender:
    """One of ours with its solver set."""
    return Contender(f"{contender.name} {solver}", contender.problem, (*contender.options, "--solver", solver))


@dataclass
class Result:
    """All measurements of a contender on a shape; times are the least of the rounds."""

    contender: Contender
    seconds: float = float("inf")
    own_seconds: float | None = None
    peak_mb: float = float("nan")
    sines: list[float] = field(default_factory=list)
    report: dict = field(default_factory=dict)
    failed: bool = False

    @property
    def sine(self) -> float | None:
        """The true sine, the median of the rounds: some peers start at random."""
        return median_low(self.sines) if self.sines else None

    @property
    def counts(self) -> bool:
        """Whether it is accurate enough to be compared."""
        if self.failed or self.sine is None:
            return False
        return self.report["sine_bound"] <= CERTIFIED if self.contender.ours else self.sine <= ACCURATE


class Bench:
    """The program, and the folder where matrices, exact answers and scratch files are."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.model = folder / "model.safetensors"
        folder.mkdir(parents=True, exist_ok=True)

    def fit_command(self, shape: Shape, options: tuple[str, ...]) -> list[str]:
        """The command line of a fit."""
        matrix, model = shape.file(self.folder), self.model
        cone = ("--angle", str(shape.degrees)) if "tae" in options else ()
        asked = ("-d", str(shape.components), *options, *cone, "--json")
        return [str(self.program), "fit", str(matrix), "-o", str(model), *asked]

    def fit(self, shape: Shape, *options: str) -> tuple[float, dict]:
        """One fit: wall time of its process, and its report."""
        seconds, printed = timed(self.fit_command(shape, options))
        return seconds, json.loads(printed)

    def exact(self, shape: Shape, problem: str) -> np.ndarray:
        """The exact components, which are found when missing."""
        matrix = shape.file(self.folder)
        stem = f"exact-{matrix.stem}-{shape.components}-{shape.degrees}"
        paths = {name: self.folder / f"{stem}-{name}.npy" for name in ("ae", "tae")}
        if not all(path.exists() for path in paths.values()):
            timed(python("exact.py", matrix, shape.components, shape.degrees, *paths.values()))
        return np.load(paths[problem])

    def measure(self, result: Result, shape: Shape) -> None:
        """Runs the contender once more and adds what was seen."""
        try:
            (self._measure_ours if result.contender.ours else self._measure_peer)(result, shape)
        except subprocess.CalledProcessError as error:
            print(f"{result.contender.name} on {shape.name} ended with {error.returncode}", file=sys.stderr)
            result.failed = True

    def _measure_ours(self, result: Result, shape: Shape) -> None:
        first = not result.report
        seconds, result.report = self.fit(shape, *result.contender.options)
        result.seconds = min(result.seconds, seconds)
        result.own_seconds = min(result.own_seconds or float("inf"), result.report["seconds"])
        if first:
            # Every run gives the same bits, so one export and one look at the memory tell all.
            components = self.folder / "components.npy"
            timed([str(self.program), "export", str(self.model), "-o", str(components)])
            result.sines.append(exact.sine(np.load(components), self.exact(shape, result.contender.problem)))
            result.peak_mb, _ = watch(self.fit_command(shape, result.contender.options), interval=0.001, quiet=True)

    def _measure_peer(self, result: Result, shape: Shape) -> None:
        components, contender = self.folder / "components.npy", result.contender
        asked = (shape.file(self.folder), shape.components, shape.degrees)
        command = python("peer.py", contender.name, *asked, components)
        report = json.loads(timed(command)[1])
        result.seconds = min(result.seconds, report["seconds"])
        result.peak_mb = report["peak_mb"]
        if contender.problem != "pca":
            result.sines.append(exact.sine(np.load(components), self.exact(shape, contender.problem)))
