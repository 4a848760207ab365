"""One row of a table of targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from measure.verdicts import MISSED

HEAD = ["target", "required", "goal", "measured", "status"]


@dataclass(frozen=True)
class Row:
    """A target, what it requires, what was measured, and the status."""

    about: str
    required: str
    goal: str
    measured: str
    status: str

    @property
    def cells(self) -> list[str]:
        """The texts of the row, in the order of `HEAD`."""
        return list(astuple(self))

    @property
    def missed(self) -> bool:
        """Whether the required value was missed."""
        return self.status == MISSED


def count_missed(rows: Iterable[Row]) -> int:
    """The number of missed targets."""
    return sum(row.missed for row in rows)
