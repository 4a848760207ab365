"""Tables in which many rows have missing cells: how many rows are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure import estimator
from measure.accuracy.classic_tables import read_numbers
from measure.accuracy.sample import orthonormal
from measure.arrays import Array
from measure.paths import data_folder
from measure.processes import say

TOPGEAR = "robustHD__TopGear.csv"
BANDS, BAND_COLUMNS = 7, 3
UNSEEN = 0.245
"""The probability that a star is not seen in a band."""


@dataclass(frozen=True)
class Used:
    """The rows of a table: all, those with missing cells, and those that a fit uses."""

    name: str
    rows: int
    incomplete: int
    """Rows with a missing cell."""
    diagnosed: int
    """Rows with finite distances; a dropped row has none."""
    support: int
    support_incomplete: int
    """Rows with a missing cell in the support."""

    @property
    def all_used(self) -> bool:
        """Whether all rows have distances, and rows with missing cells take part in the fit."""
        return self.diagnosed == self.rows and self.support_incomplete > 0

    @property
    def text(self) -> str:
        """The result in words."""
        return (
            f"{self.diagnosed} of {self.rows}; support {self.support}, with {self.support_incomplete} of the "
            f"{self.incomplete} rows with missing cells"
        )


def star_catalog(rows: int = 2000, seed: int = 0) -> Array:
    """A table like the star catalog dposs: seven bands of three measurements, missing where a star is not seen.

    About 86 % of the rows have missing cells. 5 % of the rows are outliers.
    """
    rng = np.random.default_rng([seed, rows])
    features = BANDS * BAND_COLUMNS
    basis = orthonormal(rng, features, 4)
    points = (rng.standard_normal((rows, 4)) * [4, 3, 2, 1.5]) @ basis.T + 0.5 * rng.standard_normal((rows, features))
    points[: rows // 20] += 20 * rng.standard_normal(features)
    unseen = rng.random((rows, BANDS)) < UNSEEN
    unseen[unseen.all(1), 0] = False
    points[np.repeat(unseen, BAND_COLUMNS, axis=1)] = np.nan
    return rng.permutation(points)


def used(name: str, points: Array, components: int) -> Used:
    """The rows that a fit of a table uses; features are scaled, since they have different units."""
    fit = estimator.fit(points, estimator.DEFAULT, components, scaling="mad")
    incomplete = np.isnan(points).any(1)
    support = fit.support
    return Used(
        name,
        len(points),
        int(incomplete.sum()),
        int(np.isfinite(fit.orthogonal_distances(points)).sum()),
        int(support.sum()),
        int((support & incomplete).sum()),
    )


def tables() -> Iterator[Used]:
    """All tables that exist."""
    topgear = (data_folder() or Path()) / "robuststats" / TOPGEAR
    if topgear.is_file():
        yield used("TopGear", read_numbers(topgear), components=2)
    else:
        say(f"TopGear: skipped, {TOPGEAR} is not in the folder robuststats of STERADIAN_DATA")
    yield used("dposs-like", star_catalog(), components=4)
