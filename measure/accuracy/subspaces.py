"""Angles between the estimated and the true subspace: each method on each case and seed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from measure.accuracy.models import sample
from measure.angles import largest_angle
from measure.files import with_matrix
from measure.program import Program, ProgramError, in_parallel

Figures = dict[str, dict[str, float]]
"""Degrees by case, then by method."""


@dataclass
class Subspaces:
    """Angles in degrees by method, then by case, one number per seed."""

    angles: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    """Fits that ended with an error; they count as 90 degrees."""

    @property
    def methods(self) -> list[str]:
        """The methods that were measured."""
        return list(self.angles)

    @property
    def cases(self) -> list[str]:
        """The cases that were measured."""
        return list(next(iter(self.angles.values()), {}))

    def has(self, method: str, cases: Sequence[str]) -> bool:
        """Whether the angles of a method on all these cases were measured."""
        return method in self.angles and set(cases) <= set(self.cases)

    def median(self, method: str, case: str) -> float:
        """The median over seeds."""
        return float(np.median(self.angles[method][case]))

    def high(self, method: str, case: str) -> float:
        """The 90th percentile over seeds."""
        return float(np.quantile(self.angles[method][case], 0.9))


def measure(program: Program, methods: Sequence[str], cases: Sequence[str], seeds: int) -> Subspaces:
    """Fits each method to each case and seed."""
    found = Subspaces({method: {case: [] for case in cases} for method in methods})

    def one(item: tuple[str, int]) -> dict[str, float | ProgramError]:
        data = sample(*item)

        def fits(path: Path) -> dict[str, float | ProgramError]:
            return {method: angle(path, method) for method in methods}

        def angle(path: Path, method: str) -> float | ProgramError:
            try:
                fit = program.fit(path, method, data.components, seed=item[1])
            except ProgramError as rejected:
                return rejected
            return largest_angle(data.basis, fit.tensor("components"))

        return with_matrix(data.points, fits)

    items = [(case, seed) for case in cases for seed in range(seeds)]
    for (case, seed), angles in zip(items, in_parallel(one, items), strict=True):
        for method, reached in angles.items():
            if isinstance(reached, ProgramError):
                found.rejected.append(f"`{method}` on {case}, seed {seed}: {reached}")
                reached = 90.0
            found.angles[method][case].append(reached)
    return found


def reference(name: str) -> Figures:
    """The figures of the reference implementations from a table of this folder, in degrees with one decimal."""
    with (Path(__file__).parent / name).open(newline="") as file:
        return {row.pop("case"): {method: float(x) for method, x in row.items()} for row in csv.DictReader(file)}


MEDIAN = reference("reference_median.csv")
HIGH = reference("reference_q90.csv")
