"""The benchmark: ours and peers, side by side, on the shapes of the paper.

Usage: python bench/run.py [--quick] [--rounds R] [--scale S] [--shapes yale,hall] [--output FILE.md]

`make bench` sets up what this needs and writes docs/benchmarks.md; `make bench QUICK=1` prints a shorter table.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import baselines
import growth
import kernels
from contenders import AE, PEERS, TAE, Bench, Contender, Result, with_solver
from outcome import Outcome, Results
from process import python, timed, warm
from report import markdown
from shapes import PAPER, Shape

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")
QUICK_SECONDS = 120
"""In the quick form no further round or section begins after this."""
SMALL = 1000
"""Up to this many samples the n x n matrix is what one would take by hand."""


def options() -> argparse.Namespace:
    """What was asked."""
    parser = argparse.ArgumentParser(description="Measures steradian beside its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and peers, under three minutes")
    parser.add_argument("--rounds", type=int, help="rounds of the main tables (5, quick 2)")
    parser.add_argument("--scale", type=int, default=1, help="divide n and D by this, to try the harness out")
    parser.add_argument("--shapes", default="", help="some of yale,water,hall,caviar (all)")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/steradian")
    parser.add_argument("--folder", type=Path, default=ROOT / "target/bench", help="where matrices are kept")
    parser.add_argument("--output", type=Path, help="markdown to write; it is printed in any case")
    asked = parser.parse_args()
    asked.rounds = asked.rounds or (2 if asked.quick else 5)
    return asked


def say(what: str) -> None:
    """Tells whoever waits."""
    print(what, file=sys.stderr, flush=True)


def contenders(shape: Shape, quick: bool) -> list[Contender]:
    """Who runs on a shape: everyone, or in the quick form ours and the peers that can win there."""
    if not quick:
        forced = [with_solver(contender, solver) for contender in (AE, TAE) for solver in ("gram", "krylov")]
        return [AE, *PEERS, TAE, *forced]
    gram = "ae-gram-eigh" if shape.samples <= SMALL else "ae-svds"
    return [AE, TAE, *(peer for peer in PEERS if peer.name in {"ae-svds", gram, "tae-eigh"})]


def main_tables(bench: Bench, shapes: list[Shape], asked: argparse.Namespace, deadline: float) -> Outcome:
    """Every contender on every shape; after the deadline one round each."""
    rounds, fewest = asked.rounds, asked.rounds
    found: dict[str, Results] = {}
    for shape in shapes:
        say(f"{shape.title}: matrix and exact answers")
        bench.exact(shape, "ae")
        results = {c.name: Result(c) for c in contenders(shape, asked.quick)}
        warm(shape.file(bench.folder))
        for number in range(1, rounds + 1):
            if number > 1 and time.monotonic() > deadline:
                say("no further rounds, time is up")
                fewest = min(fewest, number - 1)
                break
            for result in results.values():
                if not result.failed:
                    bench.measure(result, shape)
            times = ", ".join(f"{name} {r.seconds:.3f}" for name, r in results.items())
            say(f"{shape.name}, round {number} of {rounds}, least so far: {times}")
        found[shape.name] = results
    return Outcome(shapes, fewest, found)


def section(title: str, deadline: float, work: Callable[..., T], *arguments: object) -> T | list:
    """A part of the run whose failure must not lose the rest; left out when time is up."""
    if time.monotonic() > deadline:
        say(f"{title}: left out, time is up")
        return []
    say(title)
    try:
        return work(*arguments)
    except subprocess.CalledProcessError as error:
        say(f"{title}: a fit ended with {error.returncode}; left out")
        return []


def main() -> None:
    """Runs everything and writes it down."""
    asked = options()
    load = os.getloadavg()[0]
    start = time.monotonic()
    deadline = start + (QUICK_SECONDS if asked.quick else float("inf"))
    wanted = asked.shapes.split(",") if asked.shapes else [shape.name for shape in PAPER]
    shapes = [shape.scaled(asked.scale) for shape in PAPER if shape.name in wanted]
    bench = Bench(asked.program, asked.folder)
    say("limits of the machine")
    limits = {count: json.loads(timed(python("limits.py", count), threads=count)[1]) for count in (1, 2)}
    outcome = main_tables(bench, shapes, asked, deadline)
    outcome.limits = limits
    if not asked.quick:
        outcome.kernels = section("kernels", deadline, kernels.kernels, ROOT) or {}
    rounds, doublings = (1, 2) if asked.quick else (3, 3)
    outcome.growth = section("growth", deadline, growth.growth, bench, rounds, asked.scale, doublings)
    names = ("hall",) if asked.quick else ("hall", "caviar")
    large = [shape for shape in shapes if shape.name.split("-")[0] in names]
    outcome.threads = section("threads", deadline, growth.threads, bench, rounds, large)
    if not asked.quick:
        outcome.choices = section("solvers", deadline, growth.choices, bench, rounds, asked.scale)
        for water in (shape for shape in shapes if shape.name.split("-")[0] == "water"):
            outcome.baselines = section("baselines", deadline, baselines.baselines, bench, water, rounds)
    (bench.folder / "results.json").write_text(json.dumps(dataclasses.asdict(outcome), indent=1))
    text = markdown(outcome, f"make bench{' QUICK=1' if asked.quick else ''}", load)
    print(text)
    say(f"{time.monotonic() - start:.0f} s in all")
    if asked.output:
        asked.output.write_text(text)
        say(f"wrote {asked.output}")


if __name__ == "__main__":
    main()
