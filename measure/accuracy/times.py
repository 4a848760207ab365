"""Passes of `robust`, and its time relative to `ae` and to a former build of the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.accuracy.large_tables import TABLES
from measure.arrays import Array
from measure.files import warm, write_atomically
from measure.matrices import PAPER
from measure.program import Fit, Program

CLIPS = ("hall", "caviar")
METHOD, BASE, FORMER = "robust", "ae", "former"


@dataclass(frozen=True)
class Timing:
    """A matrix and the minimum of the seconds that the fits report: `robust`, `ae` and `robust` of a former build."""

    name: str
    title: str
    seconds: dict[str, float]
    rounds: int
    """Passes of `robust` over all rows before the final eigenproblem: steps of its objective."""
    passes: int
    """All its passes."""

    def ratio(self, other: str) -> float | None:
        """The time of `robust` divided by another time; None if that was not measured."""
        return self.seconds[METHOD] / self.seconds[other] if other in self.seconds else None


@dataclass(frozen=True)
class Matrix:
    """A file and the number of components of its fits."""

    name: str
    title: str
    path: Path
    components: int


def matrices(folder: Path) -> Iterator[Matrix]:
    """The matrices, which are written if they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for shape in (shape for shape in PAPER if shape.name in CLIPS):
        yield Matrix(shape.name, f"{shape.title}, u8", shape.file(folder), shape.components)
    for name, (components, draw) in TABLES.items():
        path = folder / f"table-{name.replace(' ', '')}.npy"
        if not path.exists():
            points = draw()

            def write(unfinished: Path, points: Array = points) -> None:
                with unfinished.open("wb") as file:
                    np.save(file, points)

            write_atomically(path, write)
        yield Matrix(name, f"{name}, f64", path, components)


def timings(program: Program, former: Program | None, folder: Path, runs: int) -> Iterator[Timing]:
    """Alternating fits with a thread per core."""
    for matrix in matrices(folder):
        warm(matrix.path)
        fits: list[tuple[str, Program, str]] = [(METHOD, program, METHOD), (BASE, program, BASE)]
        if former is not None:
            # First, since the model files of one method have one name, and that of the present build is read below.
            fits.insert(0, (FORMER, former, METHOD))
        found = alternating(fits, matrix, runs)
        seconds = {name: min(fit.seconds for fit in some) for name, some in found.items()}
        last = found[METHOD][-1]
        yield Timing(matrix.name, matrix.title, seconds, last.steps, last.passes)


def alternating(fits: Sequence[tuple[str, Program, str]], matrix: Matrix, runs: int) -> dict[str, list[Fit]]:
    """Repeated fits of each build and method, by name."""
    found: dict[str, list[Fit]] = {name: [] for name, _, _ in fits}
    for _ in range(runs):
        for name, build, method in fits:
            found[name].append(build.fit(matrix.path, method, matrix.components, threads=0))
    return found
