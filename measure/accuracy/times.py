"""The time of `robust` relative to `ae`, on two of the matrices of the speed benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measure.files import warm
from measure.matrices import PAPER
from measure.program import Program

NAMES = ("hall", "caviar")


@dataclass(frozen=True)
class Timing:
    """A matrix and the minimum of the seconds that the fits of each method report."""

    title: str
    robust: float
    ae: float

    @property
    def ratio(self) -> float:
        """The time of `robust` divided by that of `ae`."""
        return self.robust / self.ae


def timings(program: Program, folder: Path, runs: int) -> Iterator[Timing]:
    """Alternating fits with a thread per core."""
    folder.mkdir(parents=True, exist_ok=True)
    for shape in (shape for shape in PAPER if shape.name in NAMES):
        matrix = shape.file(folder)
        warm(matrix)
        seconds: dict[str, list[float]] = {"robust": [], "ae": []}
        for _ in range(runs):
            for method, times in seconds.items():
                times.append(program.fit(matrix, method, shape.components, threads=0).seconds)
        yield Timing(shape.title, min(seconds["robust"]), min(seconds["ae"]))
