"""Two builds of the program, compared by alternating runs of the same fits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure.files import warm
from measure.markdown import table
from measure.matrices import Shape
from measure.processes import say, timed
from measure.program import METHODS, Program

REPEATS, QUICK_REPEATS = 7, 3
LIMIT = 1.10
QUICK_SHAPES = ("yale", "water")


@dataclass(frozen=True)
class Comparison:
    """Minimum wall times of the process of one fit in the old build and in the new build."""

    case: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """New time divided by old time."""
        return self.new / self.old

    def slower(self, limit: float) -> bool:
        """Whether the new build is slower by more than the limit."""
        return self.ratio > limit


def fit_command(program: Program, shape: Shape, method: str, data: Path, model: Path) -> list[str]:
    """The command of a fit in one build."""
    cone = ("--max-angle", shape.degrees) if method == "tae" else ()
    return program.fit_command(data, model, "--method", method, "-d", shape.components, *cone)


def compare(
    old: Program, new: Program, shapes: Sequence[Shape], methods: Sequence[str], repeats: int, folder: Path
) -> list[Comparison]:
    """The minima of alternating runs; the build that runs first alternates, too."""
    found = []
    model = folder / "against.safetensors"
    for shape in shapes:
        data = shape.file(folder)
        warm(data)
        for method in methods:
            commands = [fit_command(program, shape, method, data, model) for program in (old, new)]
            best = [float("inf"), float("inf")]
            for repeat in range(repeats):
                for which in (0, 1) if repeat % 2 == 0 else (1, 0):
                    best[which] = min(best[which], timed(commands[which])[0])
            found.append(Comparison(f"{method}, {shape.title}", *best))
            say(f"{found[-1].case}: {best[0]:.4f} s, {best[1]:.4f} s")
    model.unlink(missing_ok=True)
    return found


def report(comparisons: Sequence[Comparison], repeats: int, limit: float) -> str:
    """The comparisons as a table, and how many are above the limit."""
    body = [
        [
            c.case,
            f"{c.old:.4f}",
            f"{c.new:.4f}",
            f"{c.ratio:.3f}",
            "**slower**" if c.slower(limit) else "ok",
        ]
        for c in comparisons
    ]
    slower = sum(c.slower(limit) for c in comparisons)
    note = (
        f"Wall time of the process in seconds, minimum of {repeats} alternating runs. "
        f"{slower} of {len(comparisons)} rows are slower by more than a factor of {limit:g}.\n\n"
    )
    return note + table(["fit", "old minimum", "new minimum", "new / old", "status"], body)


def run(asked: argparse.Namespace, shapes: Sequence[Shape]) -> int:
    """Compares the builds named on the command line and gives the exit code: 1 if a row is above the limit."""
    repeats = asked.repeats or (QUICK_REPEATS if asked.quick else REPEATS)
    if asked.quick and not asked.shapes:
        shapes = [shape for shape in shapes if shape.family in QUICK_SHAPES]
    asked.folder.mkdir(parents=True, exist_ok=True)
    methods = asked.methods.split(",") if asked.methods else METHODS
    found = compare(Program(asked.against), Program(asked.program), shapes, methods, repeats, asked.folder)
    print(report(found, repeats, asked.limit))
    return int(any(c.slower(asked.limit) for c in found))
