"""The Python package beside the command line and numpy: time, memory, import.

Usage: python bench/python_package.py --program PROGRAM [--rounds R] [--scale S] [--output FILE.md]

Run by an interpreter that has the wheel. `make bench-python` sets up what this needs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from process import python, timed, warm
from shapes import PAPER, Shape

ROOT = Path(__file__).resolve().parent.parent
FIT_FACTOR, FIT_ROOM = 1.05, 0.005
"""A fit may take this much more than the command line's, and this many seconds."""
MEMORY_MB = 150
"""Anonymous memory that a fit of 2 GB may add, beside the basis."""
LARGE = Shape("large", 20_000, 107_520)
IMPORT_MS = 50


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    must: str
    reached: str
    kept: bool


def child(what: str, *arguments: object) -> dict:
    """One measurement in a process of its own."""
    return json.loads(timed(python("python_child.py", what, *arguments))[1])


def fits(program: Path, folder: Path, rounds: int, scale: int) -> list[Row]:
    """Fits of u8 memmaps against the command line's own time for the same fit, turn by turn."""
    rows = []
    for shape in (shape.scaled(scale) for shape in PAPER):
        matrix, model = shape.file(folder), folder / "model.safetensors"
        warm(matrix)
        command = [program, "fit", matrix, "-o", model, "--method", "ae", "-d", shape.components, "--json"]
        theirs, ours = [], []
        for _ in range(rounds):
            theirs.append(json.loads(timed([str(part) for part in command])[1])["seconds"])
            ours.append(child("fit", matrix, shape.components)["seconds"])
        limit = FIT_FACTOR * min(theirs) + FIT_ROOM
        what = f"`AngularEmbedding.paper({shape.components})`, u8 memmap, {shape.title}"
        must = f"{1000 * limit:.1f} ms (command line {1000 * min(theirs):.1f} ms)"
        rows.append(Row(what, must, f"{1000 * min(ours):.1f} ms", min(ours) <= limit))
    return rows


def memory(folder: Path, scale: int) -> Row:
    """Anonymous memory that a fit of a 2 GB memmap adds."""
    shape = LARGE.scaled(scale)
    found = child("memory", shape.file(folder))
    basis = 8 * 5 * shape.features / 2**20
    what = f"extra anonymous memory, {shape.title} u8 memmap, d = 5"
    return Row(what, f"{MEMORY_MB + basis:.0f} MB", f"{found['mb']:.0f} MB", found["mb"] <= MEMORY_MB + basis)


def transform(rounds: int, scale: int) -> list[Row]:
    """Scores of 1e5 x 1000 f32 against numpy, in both of its precisions."""
    found = child("transform", 100_000 // scale, 1000, rounds)
    rows = []
    for name, what in (("numpy_single", "with mu and Q in f32"), ("numpy_double", "with mu and Q as learned")):
        must = f"numpy `(X - mu) @ Q.T` {what}: {1000 * found[name]:.0f} ms"
        kept = found["ours"] <= found[name]
        rows.append(Row("`transform` of 1e5 x 1000 f32, d = 5", must, f"{1000 * found['ours']:.0f} ms", kept))
    return rows


def import_time(rounds: int) -> Row:
    """What `import steradian` takes once numpy and sklearn.base are there."""
    least = min(child("import")["seconds"] for _ in range(rounds))
    what = "import of `steradian` beyond numpy and sklearn.base"
    return Row(what, f"{IMPORT_MS} ms", f"{1000 * least:.1f} ms", 1000 * least <= IMPORT_MS)


def markdown(rows: list[Row], command: str) -> str:
    """The table."""
    lines = [f"# Benchmarks of the Python package\n\nWritten by `{command}`. Times are the least of all rounds.\n"]
    lines += ["| | must | reached | |", "|---|---|---|---|"]
    lines += [f"| {r.what} | {r.must} | {r.reached} | {'must' if r.kept else '**missed**'} |" for r in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs everything and writes it down."""
    parser = argparse.ArgumentParser(description="Measures the Python package.")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/steradian")
    parser.add_argument("--folder", type=Path, default=ROOT / "target/bench", help="where matrices are kept")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--scale", type=int, default=1, help="divide n and D by this, to try the harness out")
    parser.add_argument("--output", type=Path, help="markdown to write; it is printed in any case")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows = fits(asked.program, asked.folder, asked.rounds, asked.scale)
    try:
        rows.append(memory(asked.folder, asked.scale))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"memory: {error}; left out", file=sys.stderr)
    rows += [*transform(asked.rounds, asked.scale), import_time(asked.rounds)]
    text = markdown(rows, "make bench-python")
    print(text)
    if asked.output:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
