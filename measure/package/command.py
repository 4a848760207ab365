"""The Python package beside the command line and NumPy: time, memory, import.

`make bench-python` sets up the packages and writes docs/benchmarks-python.md. The interpreter needs the wheel of the
Python package.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from measure.files import warm
from measure.machine import load_average, load_text, stamp, versions
from measure.markdown import page, table, targets_section
from measure.matrices import PAPER, Shape
from measure.options import add_folder, add_output, add_program, publish
from measure.processes import child, say, timed
from measure.program import Program, value
from measure.rows import Row
from measure.targets import target

HELP = "the Python package beside the command line and NumPy"
CHILD = "package.child"
LARGE = Shape("large", 20_000, 107_520)
TRANSFORM_SHAPE = (100_000, 1000)
COMPONENTS = 5


@dataclass(frozen=True)
class FitTimes:
    """Minimum seconds of a fit in Python and on the command line."""

    shape: Shape
    package: float
    program: float


@dataclass
class Outcome:
    """The measurements of a run, times in seconds."""

    runs: int
    fits: list[FitTimes] = field(default_factory=list)
    transform: dict[str, float] = field(default_factory=dict)
    transform_samples: int = TRANSFORM_SHAPE[0]
    import_seconds: float = float("nan")
    large: Shape = LARGE
    memory_mib: float | None = None


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("--repeats", type=int, default=12, help="runs per measurement (%(default)s)")
    parser.add_argument("--divide", type=int, default=1, metavar="K", help="divide n and D by K, for a trial")
    add_program(parser)
    add_folder(parser)
    add_output(parser)


def fit_times(program: Program, folder: Path, runs: int, divide: int) -> list[FitTimes]:
    """Alternating fits of u8 memory maps in Python and on the command line."""
    found = []
    for shape in (shape.scaled(divide) for shape in PAPER):
        matrix, model = shape.file(folder), folder / "model.safetensors"
        warm(matrix)
        command = program.fit_command(matrix, model, "--method", "ae", "-d", shape.components)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(runs):
            times[0].append(child(CHILD, "fit", matrix, shape.components)["seconds"])
            times[1].append(value(json.loads(timed(command)[1]), "seconds"))
        found.append(FitTimes(shape, min(times[0]), min(times[1])))
        say(f"{shape.title}: {found[-1].package:.4f} s, command line {found[-1].program:.4f} s")
    return found


def measure(asked: argparse.Namespace) -> Outcome:
    """All measurements; the memory is left out if its file cannot be written."""
    runs, divide = asked.repeats, asked.divide
    samples, features = TRANSFORM_SHAPE[0] // divide, TRANSFORM_SHAPE[1]
    outcome = Outcome(runs, large=LARGE.scaled(divide), transform_samples=samples)
    outcome.fits = fit_times(Program(asked.program), asked.folder, runs, divide)
    try:
        outcome.memory_mib = child(CHILD, "memory", outcome.large.file(asked.folder))["mib"]
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"memory: skipped, {error}")
    outcome.transform = child(CHILD, "transform", samples, features, runs)
    outcome.import_seconds = min(child(CHILD, "import")["seconds"] for _ in range(runs))
    return outcome


def rows(outcome: Outcome) -> list[Row]:
    """The rows of the table of targets."""
    goal, found = target("python.fit"), []
    for times in outcome.fits:
        limit = 1000 * goal.parameters["factor"] * times.program + goal.parameters["slack_ms"]
        found.append(goal.named(case=times.shape.title).requiring(round(limit, 1)).row(1000 * times.package))
    goal = target("python.memory")
    limit = goal.parameters["base_mib"] + 8 * COMPONENTS * outcome.large.features / 2**20
    found.append(goal.named(case=outcome.large.title).requiring(round(limit)).row(outcome.memory_mib))
    for precision in ("single", "double"):
        ratio = outcome.transform["steradian"] / outcome.transform[precision]
        size = f"{outcome.transform_samples} x {TRANSFORM_SHAPE[1]}"
        found.append(target(f"python.transform.{precision}").named(size=size).row(ratio))
    milliseconds = 1000 * outcome.import_seconds
    found.append(target("python.import").row(milliseconds, f"{milliseconds:.1f} ms"))
    return found


def markdown(outcome: Outcome, load: float) -> str:
    """The whole page."""
    fits = [
        [f"{t.shape.title}, d = {t.shape.components}", f"{1000 * t.package:.1f}", f"{1000 * t.program:.1f}"]
        for t in outcome.fits
    ]
    scores = outcome.transform
    titles = {
        "steradian": "`steradian.PCA.transform`",
        "single": "NumPy `(X - mu) @ Q.T`, center and components in f32",
        "double": "NumPy `(X - mu) @ Q.T`, center and components in f64",
    }
    memory = "not measured" if outcome.memory_mib is None else f"{outcome.memory_mib:.0f} MiB"
    introduction = (
        f"{stamp('make bench-python', versions('numpy', 'scikit-learn'), load_text(load))}\n\n"
        f"Minimum of {outcome.runs} alternating runs. Milliseconds.\n"
    )
    sections = [
        (
            "Fit",
            "`AngularEmbedding.paper` on a u8 memory map in the page cache, beside `steradian fit --method ae` on the "
            "same file. Both times are those of the fit, without the start of the process.\n\n"
            + table(["data (n x D)", "Python, ms", "command line, ms"], fits),
        ),
        (
            "Transform",
            f"Scores of {outcome.transform_samples} x {TRANSFORM_SHAPE[1]} f32, d = 5.\n\n"
            + table(["", "ms"], [[titles[name], f"{1000 * scores[name]:.0f}"] for name in titles]),
        ),
        (
            "Import and memory",
            table(
                ["", "measured"],
                [
                    ["import of `steradian` after numpy and sklearn.base", f"{1000 * outcome.import_seconds:.1f} ms"],
                    [f"anonymous memory added by a fit of {outcome.large.title} u8, d = 5", memory],
                ],
            ),
        ),
        targets_section(rows(outcome)),
    ]
    return page("Benchmarks of the Python package", introduction, sections)


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    del parser
    load = load_average()
    asked.folder.mkdir(parents=True, exist_ok=True)
    publish(markdown(measure(asked), load), asked.output)
    return 0
