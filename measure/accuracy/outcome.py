"""The measurements of a run; parts that were not run are empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from measure.accuracy import cells, clean_data
from measure.accuracy.classic_tables import Detected
from measure.accuracy.diagnosis import Counted, Flagged, Variance
from measure.accuracy.missing_rows import Used
from measure.accuracy.subspaces import Subspaces
from measure.accuracy.times import Timing


@dataclass
class Outcome:
    """The measurements, and the seeds of the cases: of the 36 with bad rows or bad cells, and of the others."""

    known_seeds: range
    new_seeds: range
    subspaces: Subspaces = field(default_factory=Subspaces)
    same_seeds: Subspaces = field(default_factory=Subspaces)
    """Angles of the default method on the seeds of the figures of other methods."""
    clean_data: list[clean_data.Flagged] = field(default_factory=list)
    flagged: list[Flagged] = field(default_factory=list)
    bad_cells: list[cells.Detected] = field(default_factory=list)
    filled: list[cells.Filled] = field(default_factory=list)
    reconstructed: cells.Reconstructed | None = None
    clean: list[Variance] = field(default_factory=list)
    outliers: list[Variance] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    tables: list[Detected] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
