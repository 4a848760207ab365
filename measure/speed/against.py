"""Two builds of the program, compared by alternating runs of the same fits.

Minima of short fits are noisy, so a short fit is run more often, and a row above the limit is measured again before it
counts as slower. A slowdown of the program remains; a delay by other work does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure.files import warm
from measure.markdown import table
from measure.matrices import Shape
from measure.processes import say, timed
from measure.program import Program

METHODS = ("robust", "angular", "ae", "tae", "pca")
"""Methods that are compared unless others are named; `cells` takes minutes."""
REPEATS, QUICK_REPEATS = 7, 3
LEAST_SECONDS = 2.0
"""Total time of the runs of a row; short fits are repeated more often, up to `MORE` times as often."""
MORE = 5
ATTEMPTS = 3
"""Measurements of a row that is above the limit."""
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


def alternate(seconds_of: Callable[[int], float], repeats: int) -> tuple[float, float]:
    """The minima of alternating runs of build 0 and build 1; the build that runs first alternates, too."""
    best, total, repeat = [float("inf"), float("inf")], 0.0, 0
    while repeat < repeats or (total < LEAST_SECONDS and repeat < MORE * repeats):
        for which in (0, 1) if repeat % 2 == 0 else (1, 0):
            seconds = seconds_of(which)
            best[which] = min(best[which], seconds)
            total += seconds
        repeat += 1
    return best[0], best[1]


def compare_one(case: str, seconds_of: Callable[[int], float], repeats: int, limit: float) -> Comparison:
    """The comparison of one fit; a row above the limit is measured again, and all runs count."""
    found = Comparison(case, *alternate(seconds_of, repeats))
    for _ in range(ATTEMPTS - 1):
        if not found.slower(limit):
            break
        old, new = alternate(seconds_of, repeats)
        found = Comparison(case, min(found.old, old), min(found.new, new))
    say(f"{case}: {found.old:.4f} s, {found.new:.4f} s")
    return found


def compare(
    builds: tuple[Program, Program],
    shapes: Sequence[Shape],
    methods: Sequence[str],
    repeats: int,
    limit: float,
    folder: Path,
) -> list[Comparison]:
    """The comparisons of all fits in the old and the new build."""
    found = []
    model = folder / "against.safetensors"
    for shape in shapes:
        data = shape.file(folder)
        warm(data)
        for method in methods:
            commands = [fit_command(program, shape, method, data, model) for program in builds]

            def seconds_of(which: int, commands: list[list[str]] = commands) -> float:
                return timed(commands[which])[0]

            found.append(compare_one(f"{method}, {shape.title}", seconds_of, repeats, limit))
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
        f"Wall time of the process in seconds, minimum of at least {repeats} alternating runs. "
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
    builds = Program(asked.against), Program(asked.program)
    found = compare(builds, shapes, methods, repeats, asked.limit, asked.folder)
    print(report(found, repeats, asked.limit))
    return int(any(c.slower(asked.limit) for c in found))
