"""Fits of files larger than memory, killed and resumed fits, Dask workers, and TAE with a million samples.

`make scale` sets up the packages and writes docs/scale.md (9 GB of temporary files). With --only, the sections of these
parts are replaced in the output and the others remain. The exit code is 1 if a required value is missed. `dask_cluster`
needs the wheel of the Python package.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Protocol

from measure.machine import load_average, load_text, stamp
from measure.markdown import page, sections_of, table, targets_text
from measure.options import absolute, add_output, add_program
from measure.processes import say
from measure.program import Program
from measure.rows import count_missed
from measure.scale import dask_cluster, kill_rounds, pivot_search, streamed
from measure.scale.lab import Lab, Part

HELP = "files larger than memory, killed fits, Dask, a million samples"
INTRODUCTION = (
    "Written by `make scale`. Each section names its date, commit and machine. Times are minima of alternating runs; "
    "MB are 1e6 bytes. Each section has the measured figures first and its targets below."
)


class Measurement(Protocol):
    """A module that measures one part."""

    TITLE: str

    def measure(self, lab: Lab) -> Part:
        """The figures and the targets."""


PARTS: dict[str, Measurement] = {
    "streamed": streamed,
    "kill_rounds": kill_rounds,
    "dask_cluster": dask_cluster,
    "pivot_search": pivot_search,
}
FORMER_HEADINGS = {**{name: part.TITLE for name, part in PARTS.items()}, "elimination": pivot_search.TITLE}
"""Headings of earlier reports and the present ones."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--only", help=f"some of {','.join(PARTS)} (all)")
    parser.add_argument("--folder", type=absolute, help="keep large files in this folder (a temporary one)")
    add_program(parser)
    add_output(parser)


def part_text(part: Part, description: str, load: float) -> str:
    """The section of a part: description, figures, targets."""
    return (
        f"{description.strip()}\n\n{stamp('make scale', load_text(load))}\n\n"
        f"{table(['', 'measured'], part.figures)}\n### Targets\n\n{targets_text(part.rows)}"
    )


def merged(before: str, done: dict[str, str]) -> str:
    """The page with new sections in place of old ones, in the order of `PARTS`."""
    old = {FORMER_HEADINGS.get(heading, heading): text for heading, text in sections_of(before).items()}
    sections = old | done
    order = [part.TITLE for part in PARTS.values() if part.TITLE in sections]
    return page("Large data", INTRODUCTION, [(heading, sections[heading]) for heading in order])


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    names = asked.only.split(",") if asked.only else list(PARTS)
    names = ["pivot_search" if name == "elimination" else name for name in names]
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no part is called {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    done, missed = {}, 0
    with tempfile.TemporaryDirectory(prefix="steradian-measure-") as scratch:
        folder = asked.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            say(name)
            module, load = PARTS[name], load_average()
            part = module.measure(Lab(Program(asked.program), folder))
            missed += count_missed(part.rows)
            done[module.TITLE] = part_text(part, module.__doc__ or "", load)
            print(f"\n## {module.TITLE}\n\n{done[module.TITLE]}", flush=True)
    if asked.output:
        before = asked.output.read_text() if asked.output.exists() else ""
        asked.output.write_text(merged(before, done))
        say(f"wrote {asked.output}")
    return int(missed > 0)
