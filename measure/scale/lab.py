"""What the parts of the report share: the program, a folder of large files, and the result of a part."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from measure.program import Program, Report, value
from measure.resident import MB_PER_MIB, watch
from measure.rows import Row


@dataclass
class Part:
    """The figures of a part, with their names and units, and the rows of its targets."""

    figures: list[tuple[str, str]]
    rows: list[Row]


@dataclass
class WatchedFit:
    """Seconds, passes and peak anonymous memory (MB of 1e6 bytes) of a fit, its model file and its report."""

    seconds: float
    passes: int
    peak_mb: float
    model: bytes = field(repr=False)
    report: Report = field(repr=False)


@dataclass
class Lab:
    """The program under test and a folder of large files."""

    program: Program
    folder: Path

    def fit(self, data: Path, *options: str) -> WatchedFit:
        """A fit with its memory measured; seconds are those that the program reports."""
        model = self.folder / "model.safetensors"
        peak, printed = watch(self.program.fit_command(data, model, *options), quiet=True)
        report = json.loads(printed)
        seconds, passes = value(report, "seconds"), value(report, "passes")
        return WatchedFit(seconds, passes, peak * MB_PER_MIB, model.read_bytes(), report)


def fastest(fits: Iterable[WatchedFit]) -> WatchedFit:
    """The fit with the smallest time."""
    return min(fits, key=lambda fit: fit.seconds)
