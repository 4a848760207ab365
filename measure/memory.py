"""Peak memory of fits of 2 GB of u8 data, without the pages of the mapped file (Linux only).

The anonymous part of the resident memory is polled while the program runs. The exit code is 1 if the limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from measure.markdown import targets_text
from measure.options import add_program
from measure.program import Program, value
from measure.resident import watch
from measure.rows import count_missed
from measure.scale.images import write_images
from measure.targets import target

HELP = "peak memory of fits of a 2 GB file"
METHODS = ("ae", "angular")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--samples", type=int, default=20_000, help="rows of the file (%(default)s)")
    parser.add_argument("--features", type=int, default=107_520, help="columns of the file (%(default)s)")
    add_program(parser)


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    del parser
    program, rows = Program(asked.program), []
    with tempfile.TemporaryDirectory(prefix="steradian-measure-") as folder:
        data = write_images(Path(folder) / "data.npy", asked.samples, asked.features)
        print(f"{asked.samples} x {asked.features} u8, {data.stat().st_size / 1e9:.2f} GB", flush=True)
        for method in METHODS:
            model = Path(folder) / "model.safetensors"
            peak, printed = watch(program.fit_command(data, model, "--method", method, "-d", "5"))
            report = json.loads(printed)
            solver, passes, seconds, bound = (
                value(report, key) for key in ("solver", "passes", "seconds", "sine_bound")
            )
            print(
                f"{method}: {solver}, {passes} passes, {seconds:.1f} s, sine_bound {bound:.1e}, peak {peak:.0f} MiB",
                flush=True,
            )
            rows.append(
                target("memory.peak")
                .named(gigabytes=f"{data.stat().st_size / 1e9:.2g}", method=method)
                .row(peak, f"{peak:.0f} MiB")
            )
    print("\n" + targets_text(rows))
    return int(count_missed(rows) > 0)
