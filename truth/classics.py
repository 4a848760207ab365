"""Two classic tables whose outliers the literature knows; they are read from the folder that STERADIAN_DATA names."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from program import Program

METHOD = "robust"


@dataclass(frozen=True)
class Table:
    """A table: its file, the columns that start with a letter, the known outliers (rows from 1), others allowed."""

    name: str
    file: str
    letter: str
    outliers: tuple[int, ...]
    others: int | None
    components: int = 2


TABLES = (
    Table("hbk", "robustbase__hbk.csv", "X", tuple(range(1, 15)), others=3),
    Table("octane", "rrcov__octane.csv", "V", (25, 26, 36, 37, 38, 39), others=None),
)


@dataclass(frozen=True)
class Found:
    """Which rows were flagged, from 1."""

    table: Table
    missed: list[int]
    others: list[int]


def classics(program: Program) -> Iterator[Found]:
    """Flags the rows of each table that is there."""
    folder = Path(os.environ.get("STERADIAN_DATA", "")) / "robuststats"
    for table in TABLES:
        if (folder / table.file).is_file():
            yield look(program, folder / table.file, table)


def look(program: Program, source: Path, table: Table) -> Found:
    """Fits a table and compares its flags with what is known."""
    with source.open(newline="") as file:
        columns = [name for name in next(csv.reader(file)) if name.startswith(table.letter)]
    options = ("--row-names", "--columns", ",".join(columns))
    with tempfile.TemporaryDirectory(prefix="steradian-truth-") as scratch:
        # The model goes beside its data, and that folder may be read-only.
        data = Path(shutil.copyfile(source, Path(scratch) / "data.csv"))
        fit = program.fit(data, METHOD, table.components, *options)
        flags = program.flags(fit, data, *options)
    flagged = {int(row) + 1 for row in np.flatnonzero(flags.flag != "regular")}
    known = set(table.outliers)
    return Found(table, sorted(known - flagged), sorted(flagged - known))
