"""The result of an experiment: claims, tables, figures and notes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from measure.files import write_atomically
from measure.rows import Row


@dataclass
class Outcome:
    """The results of one part of the paper."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    """Claims: what the paper reports is `required`, what was found here is `measured`, the verdict is `status`."""
    tables: list[str] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    stamp: str = ""
    """Date, commit and machine of the run."""

    def save(self, folder: Path) -> None:
        """Writes the results as JSON; figures are named relative to the parent of the folder."""
        content = {**asdict(self), "figures": [str(figure.relative_to(folder.parent)) for figure in self.figures]}
        write_atomically(folder / f"{self.name}.json", json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Outcome:
        """The results that `save` wrote."""
        content: dict[str, Any] = json.loads(path.read_text())
        content["rows"] = [Row(**row) for row in content["rows"]]
        content["figures"] = [Path(figure) for figure in content["figures"]]
        return cls(**content)

    def claim(self, what: str, paper: str, ours: str, verdict: str) -> None:
        """Adds a claim with the value of the paper, the value found here and the verdict."""
        self.rows.append(Row(what, paper, "", ours, verdict))


@dataclass(frozen=True)
class Setting:
    """The folders of an experiment, and its size."""

    data: Path | None
    figures: Path
    """Figures of generated data, which may be published."""
    real: Path
    """Figures of real data, which may not be published."""
    small: bool
    scratch: Path
    """Generated matrices, which are written once."""


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Prints the name of a step and its time on standard error."""
    start = time.perf_counter()
    print(f"  {what} ...", end="", file=sys.stderr, flush=True)
    yield
    print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
