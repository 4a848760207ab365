"""The program under test: commands, their reports and the spelling of keys and options.

This is the only module that knows how JSON keys and options of the program are spelled. `FORMER_KEYS` and
`FORMER_OPTIONS` name the former spelling of renamed ones, so that builds before and after a rename can be compared.
"""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from measure.arrays import Array
from measure.files import read_metadata, read_tensor, with_matrix

T = TypeVar("T")
Out = TypeVar("Out")
Report = Mapping[str, Any]

FORMER_KEYS = {
    "angular_eigenvalues": "angular_shares",
    "explained_variance": "variances",
    "n_support": "n_kept",
    "ground_truth": "truth",
    "fraction_off_by_20": "share_off_20",
    "dark_lit_fraction": "dark_lit_share",
}
"""Former names of JSON keys."""
FORMER_OPTIONS = {
    "--max-angle": "--angle",
    "--scaling": "--scale",
    "--ground-truth": "--truth",
}
"""Former names of options."""

PARALLEL = 2
"""Processes that run at the same time; each has one thread."""
USAGE_ERROR = 2
"""The exit code for an unknown option or value."""
METHODS = ("robust", "cells", "angular", "ae", "tae", "pca")


def value(report: Report, key: str) -> Any:
    """The value of a key, under its present name or its former one."""
    if key not in report and FORMER_KEYS.get(key) in report:
        return report[FORMER_KEYS[key]]
    return report[key]


@cache
def help_text(program: Path, command: str) -> str:
    """What `COMMAND --help` prints."""
    done = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def option(program: Path, command: str, name: str) -> str:
    """The spelling of an option in a build of the program: its present name, or the former one in an older build."""
    former = FORMER_OPTIONS.get(name, name)
    known = help_text(program, command).split()
    return former if former in known and name not in known else name


class ProgramError(Exception):
    """An error exit of the program: its exit code and the last line of its messages."""

    def __init__(self, code: int, line: str) -> None:
        super().__init__(f"exit code {code}: {line}")
        self.code = code


@dataclass(frozen=True)
class Fit:
    """The report and the model file of a fit."""

    report: Report
    """The object that `fit --json` prints."""
    model: Path

    @property
    def seconds(self) -> float:
        """The wall time of the fit, as the program reports it."""
        return float(self.report["seconds"])

    @property
    def passes(self) -> int:
        """The number of passes over the data."""
        return int(self.report["passes"])

    @property
    def steps(self) -> int:
        """The number of steps of the objective, which the model file has."""
        return len(read_metadata(self.model)["objective"])

    def tensor(self, name: str) -> Array:
        """An array of the model file by its name there."""
        return read_tensor(self.model, name)


@dataclass(frozen=True)
class Flags:
    """The table that `outliers` writes, in data order."""

    score_distance: Array
    orthogonal_distance: Array
    flag: Array

    @property
    def within_score(self) -> Array:
        """Whether a sample is within the cutoff of the score distance."""
        return np.isin(self.flag, ("regular", "orthogonal"))

    @property
    def within_orthogonal(self) -> Array:
        """Whether a sample is within the cutoff of the orthogonal distance."""
        return np.isin(self.flag, ("regular", "good_leverage"))


class Program:
    """A build of the program."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def option(self, command: str, name: str) -> str:
        """The spelling of an option of a command in this build."""
        return option(self.path, command, name)

    def run(self, *arguments: object) -> str:
        """Runs a command and gives its standard output."""
        done = subprocess.run([str(self.path), *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise ProgramError(done.returncode, lines[-1] if lines else "no message")
        return done.stdout

    def fit_command(self, data: Path, model: Path, *options: object) -> list[str]:
        """The command of a fit that prints its report as JSON; options are given under their present names."""
        spelled = [self.option("fit", str(text)) if str(text).startswith("--") else str(text) for text in options]
        return [str(self.path), "fit", str(data), "-o", str(model), *spelled, "--json"]

    def fit(
        self, data: Path, method: str, components: int | str, *options: object, seed: int = 0, threads: int = 1
    ) -> Fit:
        """A fit whose model file is beside its data."""
        model = data.with_suffix(f".{method}.safetensors")
        settings = ("--method", method, "-d", components, "--seed", seed, "--threads", threads, *options)
        return Fit(json.loads(self.run(*self.fit_command(data, model, *settings)[1:])), model)

    def flags(self, fit: Fit, data: Path, *options: str) -> Flags:
        """The distances and flags of all samples under a fit."""
        table = fit.model.with_suffix(".csv")
        self.run("outliers", fit.model, data, "-o", table, *options)
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
        distances = {
            name: np.array([float(row[name] or "nan") for row in rows])
            for name in ("score_distance", "orthogonal_distance")
        }
        return Flags(**distances, flag=np.array([row["flag"] for row in rows]))

    def summary(self, command: str, data: Path, out: Path, *options: object) -> Report:
        """The summary of `background` or `shadows`, whose results are written to `out`."""
        spelled = [self.option(command, str(text)) if str(text).startswith("--") else str(text) for text in options]
        self.run(command, data, "-o", out, *spelled)
        found: Report = json.loads((out / "summary.json").read_text())
        return found

    def has(self, method: str) -> bool:
        """Whether this build has a method."""
        return self.accepts(lambda data: self.fit(data, method, 1))

    def accepts(self, work: Callable[[Path], object]) -> bool:
        """Whether some work on a small matrix ends without a usage error."""
        try:
            with_matrix(np.random.default_rng(0).standard_normal((40, 4)), work)
        except ProgramError as rejected:
            return rejected.code != USAGE_ERROR
        return True


def in_parallel(work: Callable[[T], Out], items: Iterable[T]) -> Iterator[Out]:
    """The results of the work on each item, in order; a few items are worked on at the same time."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        yield from pool.map(work, items)
