"""Accuracy of all methods on synthetic data with known ground truth, and on two classic data sets.

`make truth` sets up the packages and writes docs/truth.md; `make truth QUICK=1` prints a form with 5 seeds. A case may
be given by its kind: --cases clu,hay_0.5_1. Methods and parts that the program does not support are left out with a
message.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from measure.accuracy import diagnosis, subspaces
from measure.accuracy.classic_tables import classic_tables
from measure.accuracy.models import CASES
from measure.accuracy.outcome import Outcome
from measure.accuracy.report import markdown
from measure.accuracy.times import timings
from measure.machine import load_average
from measure.options import add_folder, add_output, add_program, publish
from measure.processes import say
from measure.program import METHODS, Program

HELP = "angles, flags and variances on synthetic data with known ground truth"
PARTS = ("angles", "calibration", "flags", "variances", "auto", "time", "tables")
SEEDS, QUICK_SEEDS = 20, 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} seeds, one run of timing")
    parser.add_argument("--seeds", type=int, help=f"seeds of each case ({SEEDS}; quick: {QUICK_SEEDS})")
    parser.add_argument("--methods", default=",".join(METHODS), help="methods whose angles are measured (%(default)s)")
    parser.add_argument("--cases", default="", help=f"some of the {len(CASES)} cases, or kinds of them (all)")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts to measure (%(default)s)")
    add_program(parser)
    add_folder(parser)
    add_output(parser)


def supported(program: Program, methods: Sequence[str]) -> list[str]:
    """The methods that this build of the program has."""
    found = [method for method in methods if program.has(method)]
    for method in methods:
        if method not in found:
            say(f"{method}: skipped, this build of the program does not have it")
    return found


def has_flags(program: Program) -> bool:
    """Whether this build has what the diagnosis needs."""
    return program.accepts(lambda data: program.flags(program.fit(data, diagnosis.METHOD, 1), data))


def measure(program: Program, asked: argparse.Namespace, parts: Sequence[str], cases: Sequence[str]) -> Outcome:
    """All requested parts that this build of the program supports."""
    seeds = asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS)
    outcome = Outcome(seeds)
    robust = program.has(diagnosis.METHOD)
    flags = robust and has_flags(program)

    def part(name: str, possible: bool = True) -> bool:
        if name in parts:
            say(name if possible else f"{name}: skipped, this build of the program does not support it")
        return possible and name in parts

    if part("angles"):
        methods = supported(program, asked.methods.split(","))
        outcome.subspaces = subspaces.measure(program, methods, cases, seeds)
    if part("calibration", flags):
        outcome.calibration = list(diagnosis.calibration(program, seeds))
    if part("flags", flags):
        outcome.flagged = list(diagnosis.flagged(program, seeds))
    if part("variances", robust):
        outcome.clean = list(diagnosis.variances(program, seeds, diagnosis.CLEAN))
        outcome.outliers = list(diagnosis.variances(program, seeds, diagnosis.OUTLIERS))
    if part("auto", robust and program.accepts(lambda data: program.fit(data, diagnosis.METHOD, "auto"))):
        outcome.counted = list(diagnosis.counted(program, seeds))
    if part("time", robust):
        outcome.timings = list(timings(program, asked.folder, runs=1 if asked.quick else 3))
    if part("tables", flags):
        outcome.tables = list(classic_tables(program))
    return outcome


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    parts = asked.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    names = asked.cases.split(",") if asked.cases else CASES
    cases = [case for case in CASES if case in names or case.split("_")[0] in names]
    if not cases:
        parser.error(f"no case is called {', '.join(names)}; the cases are {', '.join(CASES)}")
    load, start = load_average(), time.monotonic()
    outcome = measure(Program(asked.program), asked, parts, cases)
    publish(markdown(outcome, f"make truth{' QUICK=1' if asked.quick else ''}", load), asked.output)
    say(f"{time.monotonic() - start:.0f} s in total")
    return 0
