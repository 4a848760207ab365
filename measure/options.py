"""Command-line options that several commands have."""

from __future__ import annotations

import argparse
from pathlib import Path

from measure.paths import PROGRAM, SCRATCH
from measure.processes import say


def absolute(text: str) -> Path:
    """A path as an absolute path: child processes may run in another folder."""
    return Path(text).resolve()


def executable(text: str) -> Path:
    """The absolute path of a program, which must exist."""
    path = absolute(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} does not exist; build it: cargo build --release -p steradian-cli")
    return path


def add_program(parser: argparse.ArgumentParser) -> None:
    """The option of the program under test; a default that is a string is checked like a given value."""
    parser.add_argument("--program", type=executable, default=str(PROGRAM), help="program to measure (release build)")


def add_folder(parser: argparse.ArgumentParser) -> None:
    """The option of the folder of generated matrices."""
    parser.add_argument("--folder", type=absolute, default=SCRATCH, help="folder of generated matrices (target/bench)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """The option of the report's file."""
    parser.add_argument("--output", type=absolute, help="Markdown file to write; the report is printed in any case")


def publish(text: str, output: Path | None) -> None:
    """Prints a report and writes it to the file, if one is given."""
    print(text, flush=True)
    if output is not None:
        output.write_text(text)
        say(f"wrote {output}")
