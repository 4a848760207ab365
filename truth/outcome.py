"""All that one run measured; parts that were left out are empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from classics import Found
from clock import Timing
from diagnosis import Calibration, Caught, Counted, Variances
from subspaces import Subspaces


@dataclass
class Outcome:
    """The measurements, and with how many seeds."""

    seeds: int
    subspaces: Subspaces = field(default_factory=Subspaces)
    calibration: list[Calibration] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)
    clean: list[Variances] = field(default_factory=list)
    dirty: list[Variances] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    classics: list[Found] = field(default_factory=list)

    def has(self, method: str, cases: list[str]) -> bool:
        """Whether the angles of a method on all these cases are there."""
        return method in self.subspaces.methods and set(cases) <= set(self.subspaces.cases)
