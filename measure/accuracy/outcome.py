"""The measurements of a run; parts that were not run are empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from measure.accuracy.classic_tables import Detected
from measure.accuracy.diagnosis import Calibration, Counted, Flagged, Variance
from measure.accuracy.subspaces import Subspaces
from measure.accuracy.times import Timing


@dataclass
class Outcome:
    """The measurements, and the number of seeds."""

    seeds: int
    subspaces: Subspaces = field(default_factory=Subspaces)
    calibration: list[Calibration] = field(default_factory=list)
    flagged: list[Flagged] = field(default_factory=list)
    clean: list[Variance] = field(default_factory=list)
    outliers: list[Variance] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    tables: list[Detected] = field(default_factory=list)
