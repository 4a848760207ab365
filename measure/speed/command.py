"""Speed and memory of steradian beside NumPy, SciPy and scikit-learn, on matrices of the sizes of the paper.

`make bench` sets up the packages and writes docs/benchmarks.md; `make bench QUICK=1` prints a shorter form in about
three minutes. With --against, two builds of the program are compared instead: --against names the old one, --program
the new one; the exit code is 1 if a row is slower by more than --limit.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

from measure.files import warm
from measure.machine import load_average
from measure.matrices import PAPER, Shape
from measure.options import add_folder, add_output, add_program, executable, publish
from measure.paths import ROOT
from measure.processes import child, say
from measure.program import METHODS
from measure.speed import against, baselines, growth, kernels
from measure.speed.competitors import AE, OTHERS, TAE, Bench, Competitor, Result, with_solver
from measure.speed.outcome import Outcome, Results
from measure.speed.report import markdown

HELP = "time and memory beside NumPy, SciPy and scikit-learn, or of two builds"
T = TypeVar("T")
RUNS, QUICK_RUNS = 5, 2
QUICK_SECONDS = 120
"""Seconds after which the quick form starts no further run or part."""
SMALL = 1000
"""Largest number of samples for which the quick form takes the n x n matrix in NumPy."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    families = ",".join(shape.name for shape in PAPER)
    parser.add_argument("--quick", action="store_true", help="fewer runs and competitors, about three minutes")
    parser.add_argument("--repeats", type=int, help=f"runs per row ({RUNS}; --against {against.REPEATS})")
    parser.add_argument("--divide", type=int, default=1, metavar="K", help="divide n and D by K, for a trial")
    parser.add_argument("--shapes", default="", help=f"some of {families} (all)")
    parser.add_argument("--against", type=executable, metavar="BINARY", help="old build to compare --program with")
    parser.add_argument("--methods", default="", help=f"--against: some of {','.join(METHODS)} (all but cells)")
    parser.add_argument(
        "--limit", type=float, default=against.LIMIT, help="--against: largest accepted new / old (%(default)s)"
    )
    add_program(parser)
    add_folder(parser)
    add_output(parser)


def competitors(shape: Shape, quick: bool) -> list[Competitor]:
    """All competitors, or in the quick form steradian and the NumPy implementations that can be the fastest."""
    if not quick:
        forced = [with_solver(competitor, solver) for competitor in (AE, TAE) for solver in ("gram", "krylov")]
        return [AE, *OTHERS, TAE, *forced]
    gram = "ae-gram-eigh" if shape.samples <= SMALL else "ae-svds"
    return [AE, TAE, *(other for other in OTHERS if other.name in {"ae-svds", gram, "tae-eigh", "pca-randomized"})]


def main_tables(bench: Bench, shapes: list[Shape], runs: int, quick: bool, deadline: float) -> Outcome:
    """All competitors on all matrices; after the deadline one run each."""
    fewest = runs
    found: dict[str, Results] = {}
    for shape in shapes:
        say(f"{shape.title}: matrix and exact components")
        bench.exact(shape, "ae")
        results = {c.name: Result(c) for c in competitors(shape, quick)}
        warm(shape.file(bench.folder))
        for number in range(1, runs + 1):
            if number > 1 and time.monotonic() > deadline:
                say("no further runs: time limit reached")
                fewest = min(fewest, number - 1)
                break
            for result in results.values():
                if not result.failed:
                    bench.measure(result, shape)
            times = ", ".join(f"{name} {r.seconds:.3f}" for name, r in results.items())
            say(f"{shape.name}, run {number} of {runs}, minima in s: {times}")
        found[shape.name] = results
    return Outcome(shapes, fewest, found)


def part(title: str, deadline: float, empty: T, work: Callable[[], T]) -> T:
    """The result of a part of the run; `empty` after the deadline or if a process fails."""
    if time.monotonic() > deadline:
        say(f"{title}: skipped, time limit reached")
        return empty
    say(title)
    try:
        return work()
    except subprocess.CalledProcessError as error:
        say(f"{title}: skipped, a process ended with exit code {error.returncode}")
        return empty


def measure(bench: Bench, shapes: list[Shape], asked: argparse.Namespace, deadline: float) -> Outcome:
    """All parts of the report."""
    quick, divide = asked.quick, asked.divide
    say("throughput of the machine")
    limits: dict[int, dict[str, float]] = {n: child("speed.limits", n, threads=n) for n in (1, 2)}
    outcome = main_tables(bench, shapes, asked.repeats or (QUICK_RUNS if quick else RUNS), quick, deadline)
    outcome.limits = limits
    runs, doublings = (1, 2) if quick else (3, 3)
    outcome.growth = part("growth", deadline, [], lambda: growth.growth(bench, runs, divide, doublings))
    large = [shape for shape in shapes if shape.family in (("hall",) if quick else ("hall", "caviar"))]
    outcome.threads = part("threads", deadline, [], lambda: growth.threads(bench, runs, large))
    if not quick:
        outcome.kernels = part("kernels", deadline, {}, lambda: kernels.kernels(ROOT))
        outcome.choices = part("solvers", deadline, [], lambda: growth.choices(bench, runs, divide))
        for water in (shape for shape in shapes if shape.family == "water"):
            outcome.baselines = part("baselines", deadline, [], lambda w=water: baselines.baselines(bench, w, runs))  # type: ignore[misc]
    return outcome


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    known = [shape.name for shape in PAPER]
    selected = asked.shapes.split(",") if asked.shapes else known
    if unknown := set(selected) - set(known):
        parser.error(f"no shape is called {', '.join(sorted(unknown))}; the shapes are {', '.join(known)}")
    shapes = [shape.scaled(asked.divide) for shape in PAPER if shape.name in selected]
    if asked.against:
        return against.run(asked, shapes)
    load, start = load_average(), time.monotonic()
    bench = Bench(asked.program, asked.folder)
    outcome = measure(bench, shapes, asked, start + (QUICK_SECONDS if asked.quick else float("inf")))
    (bench.folder / "results.json").write_text(json.dumps(dataclasses.asdict(outcome), indent=1))
    publish(markdown(outcome, f"make bench{' QUICK=1' if asked.quick else ''}", load), asked.output)
    say(f"{time.monotonic() - start:.0f} s in total")
    return 0
