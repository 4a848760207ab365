"""Measures what must hold beyond memory and beyond one process, row by row; one file of scale/rows is one part.

Usage: python3 scale/run.py --program target/release/steradian [--only streamed,...] [--folder DIR] [--output docs/scale.md]

Each part has a function `measure(lab)` that returns lines. A part alone replaces its lines in the output and leaves the others.
Ends with 1 when a line that must be reached is not.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import tempfile
from pathlib import Path

from lab import Lab, Line

ROWS = Path(__file__).resolve().parent / "rows"
HEAD = """# Beyond memory and beyond one process

Written by `make scale`. Times are those of the machine named in each part, best of a few rounds that take turns.
"""


def table(lines: list[Line]) -> str:
    rows = [("", "must", "aim", "measured", ""), ("---",) * 5]
    rows += [(line.what, line.must, line.aim, line.got, "reached" if line.reached else "**missed**") for line in lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def machine() -> str:
    gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores, {gb:.0f} GB of memory, {platform.system()} {platform.machine()}"


def parts_of(document: str) -> dict[str, str]:
    """The parts of a document that was written before, by name."""
    pieces = document.split("\n## ")[1:]
    return {piece.split("\n", 1)[0].strip(): piece.split("\n", 1)[1].strip() for piece in pieces}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--program", default="target/release/steradian")
    asked.add_argument("--only", help="parts, separated by commas")
    asked.add_argument("--folder", type=Path, help="keep large files here, for the next time")
    asked.add_argument("--output", type=Path)
    options = asked.parse_args()
    known = sorted(path.stem for path in ROWS.glob("*.py"))
    names = options.only.split(",") if options.only else known
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"{', '.join(unknown)}: no such part; there are {', '.join(known)}")
    sys.path.insert(0, str(ROWS))
    done, missed = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            part = importlib.import_module(name)
            lines = part.measure(Lab(str(Path(options.program).resolve()), folder))
            missed += sum(not line.reached for line in lines)
            done[name] = f"{part.__doc__.strip()}\n\n{machine()}.\n\n{table(lines)}"
            print(f"\n{name}\n\n{done[name]}", flush=True)
    if options.output:
        before = parts_of(options.output.read_text()) if options.output.exists() else {}
        parts = before | done
        text = HEAD + "".join(f"\n## {name}\n\n{parts[name]}\n" for name in sorted(parts))
        options.output.write_text(text)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
