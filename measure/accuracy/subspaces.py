"""Angles between the estimated and the true subspace: each method on each case and seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from measure import estimator
from measure.accuracy.cases import sample
from measure.accuracy.figures import least
from measure.angles import largest_angle
from measure.parallel import in_processes

NEAR = 1.2
"""A median is near the best if it is at most this times the smallest of the compared methods."""
LOST = 45.0
"""Degrees above which a fit has lost the subspace."""


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

    def has(self, method: str, cases: Iterable[str]) -> bool:
        """Whether the angles of a method on all these cases were measured."""
        return method in self.angles and set(cases) <= set(self.cases)

    def median(self, method: str, case: str) -> float:
        """The median over seeds."""
        return float(np.median(self.angles[method][case]))

    def high(self, method: str, case: str) -> float:
        """The 90th percentile over seeds."""
        return float(np.quantile(self.angles[method][case], 0.9))

    def ratio(self, method: str, case: str) -> float:
        """The median divided by the smallest median of the compared methods."""
        return self.median(method, case) / least(case)[0]

    def near(self, method: str, cases: Iterable[str]) -> list[str]:
        """The cases whose ratio is at most `NEAR`."""
        return [case for case in cases if self.ratio(method, case) <= NEAR]

    def lost(self, method: str, cases: Iterable[str]) -> tuple[int, int]:
        """The number of fits beyond `LOST` on some cases, and the number of fits."""
        angles = [angle for case in cases for angle in self.angles[method][case]]
        return sum(angle > LOST for angle in angles), len(angles)


Item = tuple[str, int]
"""A case and a seed."""


def measure(methods: Sequence[str], seeds: dict[str, range], jobs: int) -> Subspaces:
    """Fits each method to each case, with the seeds of the case."""
    found = Subspaces({method: {case: [] for case in seeds} for method in methods})
    items: list[Item] = [(case, seed) for case, some in seeds.items() for seed in some]
    for (case, seed), angles in zip(items, in_processes(partial(fit_all, methods), items, jobs), strict=True):
        for method, reached in angles.items():
            if isinstance(reached, str):
                found.rejected.append(f"`{method}` on {case}, seed {seed}: {reached}")
                reached = 90.0
            found.angles[method][case].append(reached)
    return found


def fit_all(methods: Sequence[str], item: Item) -> dict[str, float | str]:
    """The angle of each method on the data of a case, or the message of the error that it ended with."""
    name, seed = item
    data = sample(name, seed)
    found: dict[str, float | str] = {}
    for method in methods:
        try:
            fit = estimator.fit(data.observed, method, data.components, seed=seed)
            found[method] = largest_angle(data.basis, fit.components)
        except estimator.FitError as rejected:
            found[method] = str(rejected)
    return found
