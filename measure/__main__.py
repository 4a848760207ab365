"""The command line: `python -m measure speed|accuracy|clips|scale|python|memory|oracle`."""

from __future__ import annotations

import argparse
import sys
from typing import Protocol

from measure import memory, oracle
from measure.accuracy import command as accuracy
from measure.clips import command as clips
from measure.package import command as package
from measure.scale import command as scale
from measure.speed import command as speed


class Command(Protocol):
    """A module that implements one command."""

    HELP: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options of the command."""

    def run(self, parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
        """Runs the command and gives the exit code."""


COMMANDS: dict[str, Command] = {
    "speed": speed,
    "accuracy": accuracy,
    "clips": clips,
    "scale": scale,
    "python": package,
    "memory": memory,
    "oracle": oracle,
}


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line and runs the command."""
    parser = argparse.ArgumentParser(prog="python -m measure", description="Measures steradian.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parsers = {}
    for name, command in COMMANDS.items():
        parsers[name] = commands.add_parser(
            name,
            help=command.HELP,
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_options(parsers[name])
    asked = parser.parse_args(arguments)
    return COMMANDS[asked.command].run(parsers[asked.command], asked)


if __name__ == "__main__":
    sys.exit(main())
