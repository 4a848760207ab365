"""The command line of the reproduction: `python -m experiments [--only PART,..] [--small] [--data DIR] [--output DIR]`.

`make paper` runs all parts and writes experiments/report.md; `make paper ONLY=table1` runs one part; `SMALL=1` a form
that takes less than three minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments import beyond, figures12, reconstructions, table1, table2, times
from experiments.outcome import Outcome, Setting
from experiments.report import markdown
from measure.files import write_atomically
from measure.machine import stamp
from measure.paths import SCRATCH

HERE = Path(__file__).resolve().parent
PARTS: dict[str, Callable[[Setting, dict[str, Any]], Outcome]] = {
    "table1": table1.run,
    "table2": table2.run,
    "table3": times.run,
    "fig1": figures12.circle,
    "fig2": figures12.reductions,
    "fig3": reconstructions.backgrounds("fig3", "Figure 3: backgrounds of CAVIAR", ("caviar",)),
    "fig4": reconstructions.backgrounds("fig4", "Figure 4: backgrounds of I2R", ("hall", "curtain", "water")),
    "fig5": reconstructions.faces,
    "contamination": beyond.contamination,
    "breakdown": beyond.breakdown,
    "kept": beyond.kept,
}


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description="Reproduces the tables and figures of the paper."
    )
    parser.add_argument("--only", default="", help=f"some of {','.join(PARTS)} (all)")
    parser.add_argument("--small", action="store_true", help="fewer seeds, smaller data: under three minutes")
    parser.add_argument("--data", type=Path, help="folder of the real data sets (STERADIAN_DATA)")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of report.md and the figures (experiments)")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="folder of generated matrices (target/bench)")
    asked = parser.parse_args()
    asked.parts = [name for name in asked.only.split(",") if name] or list(PARTS)
    unknown = [name for name in asked.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return asked


def data_folder(asked: Path | None) -> Path | None:
    """The folder of real data; none where none is given or it is not there, which is said."""
    named = asked or (Path(os.environ["STERADIAN_DATA"]) if os.environ.get("STERADIAN_DATA") else None)
    if named is not None and not named.is_dir():
        print(f"the data folder {named} is missing; what needs it is skipped, and the report says so", file=sys.stderr)
        return None
    return named


def write_report(folder: Path) -> None:
    """The report of all parts that were ever run: a part alone renews its lines and leaves those of the others."""
    paths = {part: folder / "results" / f"{part}.json" for part in PARTS}
    made = [Outcome.load(path) for path in paths.values() if path.exists()]
    write_atomically(folder / "report.md", markdown(made, [part for part, path in paths.items() if not path.exists()]))


def main() -> None:
    """Runs the parts one after the other and writes the report."""
    asked = options()
    setting = Setting(
        data=data_folder(asked.data),
        figures=asked.output / "figures",
        real=asked.output / "real",
        small=asked.small,
        scratch=asked.scratch,
    )
    expected = tomllib.loads((HERE / "expected.toml").read_text())
    results = asked.output / "results"
    for name in asked.parts:
        print(f"{name}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        outcome = PARTS[name](setting, expected.get(name, {}))
        outcome.seconds = time.perf_counter() - start
        outcome.stamp = stamp(f"make paper ONLY={name}{' SMALL=1' if asked.small else ''}")
        outcome.save(results)
        write_report(asked.output)
    print(f"wrote {asked.output / 'report.md'}", file=sys.stderr)


if __name__ == "__main__":
    main()
