"""Accuracy of all methods on data with known ground truth, and on classic data sets.

`make truth` sets up the packages and writes docs/truth.md; `make truth QUICK=1` prints a form with few seeds. A case
may be given by its kind: --cases clu,hay_0.5_1. Fits run in processes of the Python package, but for times, which are
those that the program reports.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from measure import estimator
from measure.accuracy import cells, clean_data, diagnosis, subspaces
from measure.accuracy.cases import KNOWN, MISSING, NEW, kind_of
from measure.accuracy.classic_tables import classic_tables
from measure.accuracy.figures import SEEDS as SAME_SEEDS
from measure.accuracy.missing_rows import tables as tables_with_missing_cells
from measure.accuracy.outcome import Outcome
from measure.accuracy.report import markdown
from measure.accuracy.times import timings
from measure.machine import load_average
from measure.options import absolute, add_folder, add_output, executable, publish
from measure.parallel import JOBS
from measure.paths import PROGRAM
from measure.processes import say
from measure.program import Program

HELP = "angles, flags and variances on synthetic data with known ground truth"
CASES = [*KNOWN, *NEW, *MISSING]
SEEDS, NEW_SEEDS, QUICK_SEEDS = 20, 10, 3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} seeds, one run of timing")
    parser.add_argument(
        "--seeds",
        type=int,
        help=f"seeds of each case ({SEEDS}, {NEW_SEEDS} of the 60 further cases; quick: {QUICK_SEEDS})",
    )
    parser.add_argument("--first-seed", type=int, default=0, help="first seed of the cases (%(default)s)")
    parser.add_argument(
        "--methods", default=",".join(estimator.METHODS), help="methods whose angles are measured (%(default)s)"
    )
    parser.add_argument("--cases", default="", help=f"some of the {len(CASES)} cases, or kinds of them (all)")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts to measure (%(default)s)")
    parser.add_argument("--jobs", type=int, default=JOBS, help="processes that fit at the same time (%(default)s)")
    parser.add_argument("--former", type=executable, help="program of a former build, for its time")
    parser.add_argument("--program", type=absolute, default=PROGRAM, help="program whose times are measured")
    add_folder(parser)
    add_output(parser)


def chosen_cases(parser: argparse.ArgumentParser, text: str) -> list[str]:
    """The cases that are named, or whose kinds are; all for an empty text."""
    names = text.split(",") if text else CASES
    cases = [case for case in CASES if case in names or kind_of(case) in names]
    if unknown := set(names) - set(cases) - set(map(kind_of, cases)):
        parser.error(f"no case is called {', '.join(sorted(unknown))}; the cases are {', '.join(CASES)}")
    return cases


def angles(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Angles of all methods on all cases."""
    seeds = {case: outcome.known_seeds if case in KNOWN else outcome.new_seeds for case in asked.chosen}
    outcome.subspaces = subspaces.measure(asked.methods.split(","), seeds, asked.jobs)
    same = {case: SAME_SEEDS[: len(outcome.new_seeds)] for case in asked.chosen if case not in MISSING}
    if estimator.DEFAULT in outcome.subspaces.methods:
        outcome.same_seeds = subspaces.measure([estimator.DEFAULT], same, asked.jobs)


def calibration(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Flags on data without outliers."""
    outcome.clean_data = list(clean_data.flagged(outcome.new_seeds, asked.jobs))


def flags(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Flags of clusters."""
    outcome.flagged = list(diagnosis.flagged(outcome.known_seeds, asked.jobs))


def bad_cells(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Flags of cells, and reconstructions."""
    outcome.bad_cells = list(cells.detected(outcome.known_seeds, asked.jobs))
    outcome.reconstructed = cells.reconstructed(outcome.known_seeds, asked.jobs)


def fill(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Filled cells."""
    outcome.filled = list(cells.filled(outcome.known_seeds, asked.jobs))


def variances(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Explained variances."""
    outcome.clean = list(diagnosis.variances(outcome.known_seeds, asked.jobs, diagnosis.CLEAN))
    outcome.outliers = list(diagnosis.variances(outcome.known_seeds, asked.jobs, diagnosis.OUTLIERS))


def auto(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Numbers of components."""
    outcome.counted = list(diagnosis.counted(outcome.known_seeds, asked.jobs))


def tables(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Classic tables and tables with missing cells."""
    del asked
    outcome.tables = list(classic_tables())
    outcome.used = list(tables_with_missing_cells())


def cost(asked: argparse.Namespace, outcome: Outcome) -> None:
    """Passes and times."""
    former = Program(asked.former) if asked.former else None
    outcome.timings = list(timings(Program(asked.program), former, asked.folder, runs=1 if asked.quick else 3))


PARTS: dict[str, Callable[[argparse.Namespace, Outcome], None]] = {
    "angles": angles,
    "calibration": calibration,
    "flags": flags,
    "cells": bad_cells,
    "fill": fill,
    "variances": variances,
    "auto": auto,
    "tables": tables,
    "cost": cost,
}


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    parts = asked.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    if unknown := set(asked.methods.split(",")) - set(estimator.METHODS) - {"rows"}:
        parser.error(
            f"no method is called {', '.join(sorted(unknown))}; the methods are {', '.join(estimator.METHODS)}"
        )
    asked.chosen = chosen_cases(parser, asked.cases)
    if set(parts) != {"cost"} and not estimator.installed():
        parser.error("the package steradian is not installed in this environment; run `make measure-wheel`")
    if "cost" in parts and not asked.program.is_file():
        parser.error(f"{asked.program} does not exist; build it, or leave out the part `cost`")
    fewer = asked.seeds or (QUICK_SEEDS if asked.quick else None)
    first = asked.first_seed
    outcome = Outcome(range(first, first + (fewer or SEEDS)), range(first, first + (fewer or NEW_SEEDS)))
    load, start = load_average(), time.monotonic()
    for name in (name for name in PARTS if name in parts):
        began = time.monotonic()
        PARTS[name](asked, outcome)
        say(f"{name}: {time.monotonic() - began:.0f} s")
    publish(markdown(outcome, f"make truth{' QUICK=1' if asked.quick else ''}", load), asked.output)
    say(f"{time.monotonic() - start:.0f} s in total")
    return 0
