"""Every method against data whose truth is known.

Usage: python truth/run.py [--quick] [--seeds N] [--methods robust,pca] [--cases clu,hay_0.5_1] [--parts angles,flags]
                           [--program PATH] [--output FILE.md]

`make truth` sets up what this needs and writes docs/truth.md; `make truth QUICK=1` prints a form with 5 seeds.
A case may be given by its kind. Methods that the program does not know are left out, and said.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import diagnosis
import subspaces
from classics import classics
from clock import timings
from models import CASES
from outcome import Outcome
from program import METHODS, Program
from report import markdown

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("angles", "calibration", "flags", "variances", "auto", "time", "classics")
QUICK_SEEDS, SEEDS = 5, 20


def options() -> argparse.Namespace:
    """What was asked."""
    parser = argparse.ArgumentParser(description="Compares methods with the truth.")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} seeds, one round of timing")
    parser.add_argument("--seeds", type=int, help=f"seeds of every case ({SEEDS}, quick {QUICK_SEEDS})")
    parser.add_argument("--methods", default=",".join(METHODS), help="methods whose angles are measured")
    parser.add_argument("--cases", default="", help="some of the 36 cases, or kinds of them (all)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)} (all)")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/steradian")
    parser.add_argument("--folder", type=Path, default=ROOT / "target/bench", help="where large matrices are kept")
    parser.add_argument("--output", type=Path, help="markdown to write; it is printed in any case")
    asked = parser.parse_args()
    asked.seeds = asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS)
    asked.parts = asked.parts.split(",")
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    names = asked.cases.split(",") if asked.cases else CASES
    asked.cases = [case for case in CASES if case in names or case.split("_")[0] in names]
    if not asked.cases:
        parser.error(f"no case is called {', '.join(names)}; the cases are {', '.join(CASES)}")
    return asked


def say(what: str) -> None:
    """Tells whoever waits."""
    print(what, file=sys.stderr, flush=True)


def known(program: Program, methods: list[str]) -> list[str]:
    """The methods that this version of the program has."""
    there = [method for method in methods if program.has(method)]
    for method in methods:
        if method not in there:
            say(f"{method}: left out, this version of the program does not have it")
    return there


def judges(program: Program) -> bool:
    """Whether this version has what the diagnosis needs."""
    return program.accepts(lambda data: program.flags(program.fit(data, diagnosis.METHOD, 1), data))


def measure(program: Program, asked: argparse.Namespace) -> Outcome:
    """All parts that were asked for and that this version of the program can do."""
    seeds = asked.seeds
    outcome = Outcome(seeds)
    robust = program.has(diagnosis.METHOD)
    flags = robust and judges(program)

    def part(name: str, possible: bool = True) -> bool:
        if name in asked.parts:
            say(name if possible else f"{name}: left out, this version of the program cannot do it")
        return possible and name in asked.parts

    if part("angles"):
        methods = known(program, asked.methods.split(","))
        outcome.subspaces = subspaces.measure(program, methods, asked.cases, seeds)
    if part("calibration", flags):
        outcome.calibration = list(diagnosis.calibration(program, seeds))
    if part("flags", flags):
        outcome.caught = list(diagnosis.caught(program, seeds))
    if part("variances", robust):
        outcome.clean = list(diagnosis.variances(program, seeds, diagnosis.CLEAN))
        outcome.dirty = list(diagnosis.variances(program, seeds, diagnosis.DIRTY))
    if part("auto", robust and program.accepts(lambda data: program.fit(data, diagnosis.METHOD, "auto"))):
        outcome.counted = list(diagnosis.counted(program, seeds))
    if part("time", robust):
        outcome.timings = list(timings(program, asked.folder, rounds=1 if asked.quick else 3))
    if part("classics", flags):
        outcome.classics = list(classics(program))
    return outcome


def main() -> None:
    """Measures and writes it down."""
    asked = options()
    start = time.monotonic()
    outcome = measure(Program(asked.program), asked)
    text = markdown(outcome, f"make truth{' QUICK=1' if asked.quick else ''}")
    print(text)
    say(f"{time.monotonic() - start:.0f} s in all")
    if asked.output:
        asked.output.write_text(text)
        say(f"wrote {asked.output}")


if __name__ == "__main__":
    main()
