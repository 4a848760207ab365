"""The time of `robust` against `ae`, in the same run, on two of the benchmark's shapes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from program import Program

# The benchmark's matrices, so that both speak of the same ones.
sys.path.append(str(Path(__file__).parent.parent / "bench"))
from process import warm
from shapes import PAPER

NAMES = ("hall", "caviar")


@dataclass(frozen=True)
class Timing:
    """A shape: the least seconds that each method's fit reported."""

    title: str
    robust: float
    ae: float

    @property
    def ratio(self) -> float:
        """How many times the time of `ae`."""
        return self.robust / self.ae


def timings(program: Program, folder: Path, rounds: int) -> Iterator[Timing]:
    """Fits both in turn, with a thread per core."""
    folder.mkdir(parents=True, exist_ok=True)
    for shape in (shape for shape in PAPER if shape.name in NAMES):
        matrix = shape.file(folder)
        warm(matrix)
        seconds: dict[str, list[float]] = {"robust": [], "ae": []}
        for _ in range(rounds):
            for method, times in seconds.items():
                times.append(program.fit(matrix, method, shape.components, threads=0).report["seconds"])
        yield Timing(shape.title, min(seconds["robust"]), min(seconds["ae"]))
