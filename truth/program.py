"""The program from outside: a fit, its model file and its flags, each through a process of its own."""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Out = TypeVar("Out")

AT_ONCE = 2
"""Processes that run together; each gets one thread."""
ASKED_WRONG = 2
"""The exit code of options that do not exist."""
METHODS = ("robust", "cells", "angular", "ae", "tae", "pca")


class Refused(Exception):
    """The program ended with an error: its exit code and last line."""

    def __init__(self, code: int, line: str) -> None:
        super().__init__(f"exit code {code}: {line}")
        self.code = code


@dataclass(frozen=True)
class Fit:
    """What a fit left behind."""

    report: dict
    """What `fit --json` printed."""
    model: Path

    def tensor(self, name: str) -> np.ndarray:
        """An array of the model file, by its name there."""
        return read_tensor(self.model, name)


@dataclass(frozen=True)
class Flags:
    """What `outliers` wrote, in data order."""

    score_distance: np.ndarray
    orthogonal_distance: np.ndarray
    flag: np.ndarray

    @property
    def within_score(self) -> np.ndarray:
        """Whether a sample is within the cutoff of the score distance."""
        return np.isin(self.flag, ("regular", "orthogonal"))

    @property
    def within_orthogonal(self) -> np.ndarray:
        """Whether a sample is within the cutoff of the orthogonal distance."""
        return np.isin(self.flag, ("regular", "good_leverage"))


class Program:
    """The binary, and a folder of its own for each piece of work."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *arguments: object) -> str:
        """Runs a command to its end; what it printed."""
        done = subprocess.run([str(self.path), *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise Refused(done.returncode, lines[-1] if lines else "no message")
        return done.stdout

    def fit(
        self, data: Path, method: str, components: int | str, *options: str, seed: int = 0, threads: int = 1
    ) -> Fit:
        """A fit whose model lies beside its data."""
        model = data.with_suffix(f".{method}.safetensors")
        asked = ("--method", method, "-d", components, "--seed", seed, "--threads", threads, "--json", *options)
        return Fit(json.loads(self.run("fit", data, "-o", model, *asked)), model)

    def flags(self, fit: Fit, data: Path, *options: str) -> Flags:
        """Which samples are outliers under a fit."""
        table = fit.model.with_suffix(".csv")
        self.run("outliers", fit.model, data, "-o", table, *options)
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
        numbers = {name: np.array([float(row[name] or "nan") for row in rows]) for name in DISTANCES}
        return Flags(**numbers, flag=np.array([row["flag"] for row in rows]))

    def has(self, method: str) -> bool:
        """Whether this version knows a method."""
        return self.accepts(lambda data: self.fit(data, method, 1))

    def accepts(self, work: Callable[[Path], object]) -> bool:
        """Whether some work on a small matrix is understood; other errors are not about that."""
        try:
            with_file(np.random.default_rng(0).standard_normal((40, 4)), work)
        except Refused as refused:
            return refused.code != ASKED_WRONG
        return True


DISTANCES = ("score_distance", "orthogonal_distance")


def with_file(points: np.ndarray, work: Callable[[Path], Out]) -> Out:
    """Does some work on a matrix in a file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="steradian-truth-") as folder:
        path = Path(folder) / "data.npy"
        np.save(path, points)
        return work(path)


def together(work: Callable[[T], Out], items: Iterable[T]) -> Iterator[Out]:
    """The work on each item, in order, a few at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(work, items)


def read_tensor(path: Path, name: str) -> np.ndarray:
    """An f64 array of a safetensors file: eight bytes of length, a json header, then the numbers."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        entry = header[name]
        if entry["dtype"] != "F64":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, F64 was expected")
        begin, end = entry["data_offsets"]
        file.seek(begin, 1)
        return np.frombuffer(file.read(end - begin), "<f8").reshape(entry["shape"])
