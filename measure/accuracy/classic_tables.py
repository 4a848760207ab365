"""Classic data sets from the folder in STERADIAN_DATA, whose outliers are known from the literature."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure import estimator
from measure.arrays import Array
from measure.paths import data_folder
from measure.processes import say


@dataclass(frozen=True)
class Table:
    """A table of which all columns but the row names are features; the known outliers are rows from 1."""

    name: str
    file: str
    features: int
    outliers: tuple[int, ...]
    components: int


TABLES = (
    Table("hbk", "robustbase__hbk.csv", 4, tuple(range(1, 15)), components=2),
    Table("wood", "robustbase__wood.csv", 6, (4, 6, 8, 19), components=3),
    Table("octane", "rrcov__octane.csv", 227, (25, 26, 36, 37, 38, 39), components=2),
)


@dataclass(frozen=True)
class Detected:
    """The support and the flags of a fit, compared with the known outliers of its table; rows from 1."""

    table: Table
    in_support: list[int]
    """Known outliers in the support."""
    left_out: list[int]
    """Other samples that are not in the support."""
    missed: list[int]
    """Known outliers without a flag."""
    false_positives: list[int]
    """Other samples with a flag."""

    @property
    def exact(self) -> bool:
        """Whether the support is exactly the samples that are not known outliers, and all of these are flagged."""
        return not (self.in_support or self.left_out or self.missed)

    @property
    def text(self) -> str:
        """The result in words."""
        known = len(self.table.outliers)
        text = f"{known - len(self.missed)} of {known} flagged" + listed("missed", self.missed)
        count = len(self.false_positives)
        text += f", {count} false positive{'s' * (count != 1)}" + (listed("", self.false_positives))
        if not (self.in_support or self.left_out):
            return text + "; support exact"
        return text + listed("in the support", self.in_support) + listed("not in the support", self.left_out)


def listed(text: str, rows: list[int]) -> str:
    """Row numbers in parentheses after a text; nothing without rows."""
    return f" ({text}{': ' * bool(text)}{', '.join(map(str, rows))})" if rows else ""


def classic_tables() -> Iterator[Detected]:
    """The support and flags on each table that is in the data folder."""
    folder = (data_folder() or Path()) / "robuststats"
    for table in TABLES:
        if not (folder / table.file).is_file():
            say(f"{table.name}: skipped, {table.file} is not in the folder robuststats of STERADIAN_DATA")
            continue
        points = read_numbers(folder / table.file)
        if points.shape[1] != table.features:
            raise ValueError(f"{table.file} has {points.shape[1]} columns of numbers, {table.features} were expected")
        fit = estimator.fit(points, estimator.DEFAULT, table.components)
        yield compared(table, fit.support, fit.flags(points, own=True).any)


def compared(table: Table, support: Array, flagged: Array) -> Detected:
    """A support and flags beside the known outliers."""
    outlier = np.zeros(len(support), bool)
    outlier[np.array(table.outliers) - 1] = True
    masks = (outlier & support, ~outlier & ~support, outlier & ~flagged, ~outlier & flagged)
    return Detected(table, *((np.flatnonzero(mask) + 1).tolist() for mask in masks))


def read_numbers(path: Path) -> Array:
    """The columns of a CSV file whose values are numbers; NaN for empty cells and NA. The first column holds names."""
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    columns = (numbers(column) for column in list(zip(*rows, strict=True))[1:])
    return np.column_stack([column for column in columns if column is not None])


def numbers(texts: tuple[str, ...]) -> Array | None:
    """The numbers of a column; None if a cell is neither a number nor empty nor NA."""
    try:
        return np.array([np.nan if text in ("", "NA") else float(text) for text in texts])
    except ValueError:
        return None
