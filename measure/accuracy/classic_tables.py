"""Two classic data sets whose outliers are known from the literature, from the folder in STERADIAN_DATA."""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.paths import data_folder
from measure.program import Program

METHOD = "robust"


@dataclass(frozen=True)
class Table:
    """A table: its file, the first letter of its feature columns, the known outliers (rows from 1)."""

    name: str
    file: str
    letter: str
    outliers: tuple[int, ...]
    components: int = 2


TABLES = (
    Table("hbk", "robustbase__hbk.csv", "X", tuple(range(1, 15))),
    Table("octane", "rrcov__octane.csv", "V", (25, 26, 36, 37, 38, 39)),
)


@dataclass(frozen=True)
class Detected:
    """The known outliers of a table that were not flagged, and the other samples that were; rows from 1."""

    table: Table
    missed: list[int]
    false_positives: list[int]

    @property
    def text(self) -> str:
        """The result in words."""
        known = len(self.table.outliers)
        count = len(self.false_positives)
        text = f"{known - len(self.missed)} of {known} detected"
        if self.missed:
            text += f" (missed: {numbers(self.missed)})"
        text += f", {count} false positive{'s' * (count != 1)}"
        return text + (f" ({numbers(self.false_positives)})" if count else "")


def numbers(rows: list[int]) -> str:
    """Row numbers, separated by commas."""
    return ", ".join(map(str, rows))


def classic_tables(program: Program) -> Iterator[Detected]:
    """The flags on each table that is in the data folder."""
    folder = (data_folder() or Path()) / "robuststats"
    for table in TABLES:
        if (folder / table.file).is_file():
            yield detect(program, folder / table.file, table)


def detect(program: Program, source: Path, table: Table) -> Detected:
    """Fits a table and compares its flags with the known outliers."""
    with source.open(newline="") as file:
        columns = [name for name in next(csv.reader(file)) if name.startswith(table.letter)]
    options = ("--row-names", "--columns", ",".join(columns))
    with tempfile.TemporaryDirectory(prefix="steradian-measure-") as scratch:
        # The model is written beside its data, and the data folder may be read-only.
        data = Path(shutil.copyfile(source, Path(scratch) / "data.csv"))
        fit = program.fit(data, METHOD, table.components, *options)
        flags = program.flags(fit, data, *options)
    flagged = {int(row) + 1 for row in np.flatnonzero(flags.flag != "regular")}
    known = set(table.outliers)
    return Detected(table, sorted(known - flagged), sorted(flagged - known))
