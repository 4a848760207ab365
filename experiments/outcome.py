"""What an experiment leaves behind: lines for the report, and tables and figures beside it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

HOLDS = "holds"
DEPENDS = "depends on a choice"
FAILS = "fails"
SKIPPED = "skipped"


@dataclass(frozen=True)
class Line:
    """One claim: what the paper has, what came out here, and what that says."""

    what: str
    paper: str
    ours: str
    verdict: str


@dataclass
class Outcome:
    """All that one part of the paper came to."""

    name: str
    title: str
    lines: list[Line] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def save(self, folder: Path) -> None:
        """Keeps it beside those of other parts; figures by their place in the folder above."""
        content = {**asdict(self), "figures": [str(figure.relative_to(folder.parent)) for figure in self.figures]}
        write(folder / f"{self.name}.json", json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Outcome:
        """What `save` kept."""
        content = json.loads(path.read_text())
        content["lines"] = [Line(**line) for line in content["lines"]]
        content["figures"] = [Path(figure) for figure in content["figures"]]
        return cls(**content)

    def claim(self, what: str, paper: str, ours: str, verdict: str) -> None:
        """Adds a line."""
        self.lines.append(Line(what, paper, ours, verdict))


@dataclass(frozen=True)
class Setting:
    """Where an experiment reads and writes, and how large it is."""

    data: Path | None
    figures: Path
    """For pictures of generated data, which may be published."""
    real: Path
    """For pictures of real data, which may not."""
    small: bool
    scratch: Path
    """For matrices that are made once."""


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Says on standard error what is being done, and how long it took."""
    start = time.perf_counter()
    print(f"  {what} ...", end="", file=sys.stderr, flush=True)
    yield
    print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def write(path: Path, text: str) -> None:
    """Writes a file under a name that only a whole file gets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text)
    os.replace(unfinished, path)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)
