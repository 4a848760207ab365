"""What the rows of `make scale` share: the program, a folder for large files, and what a row says."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from resident import watch  # noqa: E402


@dataclass
class Line:
    """One line of the table: what was measured, what it must reach, what came out."""

    what: str
    must: str
    got: str
    reached: bool
    aim: str = ""


@dataclass
class Fit:
    """What one fit took."""

    seconds: float
    passes: int
    peak_mb: float
    model: bytes
    report: dict = field(repr=False)


@dataclass
class Lab:
    """Where a row works."""

    program: str
    folder: Path

    def fit(self, data: Path, *options: str) -> Fit:
        """Fits, watched: seconds as the program says them, and its peak of anonymous memory in MB of 1e6 bytes."""
        model = self.folder / "model.safetensors"
        peak, printed = watch([self.program, "fit", str(data), "-o", str(model), "--json", *options], quiet=True)
        report = json.loads(printed)
        return Fit(report["seconds"], report["passes"], peak * 1.048576, model.read_bytes(), report)

    def room(self) -> float:
        """Free disk space in GB."""
        space = os.statvfs(self.folder)
        return space.f_bavail * space.f_frsize / 1e9
