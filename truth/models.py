"""Contamination models: data whose true subspace is known, with outliers of a known kind.

A case is a kind and its numbers joined by "_", such as clu_0.3_15_3. The same name and seed give the same numbers
everywhere: draws come in a fixed order from a generator that both of them seed.

| kind | numbers | n x D, d | what is wrong |
|---|---|---|---|
| hay | share, scale | 200 x 50, 5 | outliers in every direction |
| low | share, shift, shrink | 100 x 4, 3 | a shifted group, few features (Hubert et al. 2005) |
| high | share, shift, shrink | 50 x 100, 5 | a shifted group, more features than samples (the same) |
| t | degrees of freedom | 200 x 30, 3 | heavy tails |
| clu | share, distance, d | 200 x 30 | a tight cluster beside the subspace |
| lin | share, spread, d | 200 x 30 | outliers on a line through the center |
| shift | share, distance | 200 x 30, 3 | far outliers about one far point |
| cell | share | 200 x 50, 3 | single bad cells, in any row |
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

CASES = (
    "hay_0.1_1 hay_0.3_1 hay_0.5_1 hay_0.7_1 hay_0.5_10 "
    "low_0_6_1 low_0.1_6_1 low_0.1_12_15 low_0.2_12_1 low_0.2_12_15 "
    "high_0_6_1 high_0.1_6_1 high_0.1_12_15 high_0.2_12_15 high_0.2_20_1 "
    "t_1 t_3 "
    "clu_0.1_15_1 clu_0.1_15_3 clu_0.2_15_3 clu_0.3_15_1 clu_0.3_15_3 "
    "clu_0.4_15_1 clu_0.4_15_3 clu_0.45_15_1 clu_0.45_15_3 "
    "lin_0.2_15_1 lin_0.2_15_3 lin_0.4_15_1 lin_0.4_15_3 "
    "shift_0.01_1000000 shift_0.1_1000 shift_0.3_1000 "
    "cell_0.05 cell_0.1 cell_0.2"
).split()
"""The 36 cases that methods are compared on."""


@dataclass(frozen=True)
class Sample:
    """Data of a case and the truth about them."""

    points: np.ndarray
    """n x D, rows in random order."""
    basis: np.ndarray
    """The true subspace, D x d, columns orthonormal."""
    outlier: np.ndarray
    """Whether a row is an outlier, n."""
    variances: np.ndarray | None
    """Of the good rows along the true subspace, largest first; none where they do not exist or cells are bad."""

    @property
    def components(self) -> int:
        """d."""
        return self.basis.shape[1]


@dataclass(frozen=True)
class Parts:
    """Good rows and outliers before they are moved off the origin and shuffled."""

    good: np.ndarray
    bad: np.ndarray
    basis: np.ndarray
    variances: np.ndarray | None


def sample(name: str, seed: int) -> Sample:
    """The data of a case."""
    kind, *numbers = name.split("_")
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    parts = KINDS[kind](rng, *map(float, numbers))
    points = np.vstack([parts.good, parts.bad])
    points = points + rng.standard_normal(points.shape[1]) * 2
    order = rng.permutation(len(points))
    outlier = np.arange(len(points)) >= len(parts.good)
    return Sample(points[order], parts.basis, outlier[order], parts.variances)


def orthonormal(rng: Generator, features: int, columns: int) -> np.ndarray:
    """A random orthonormal basis."""
    return np.linalg.qr(rng.standard_normal((features, columns)))[0]


def counts(n: int, share: float) -> tuple[int, int]:
    """How many of n rows are good, and how many are outliers."""
    bad = int(round(share * n))
    return n - bad, bad


def none(features: int) -> np.ndarray:
    """No rows."""
    return np.zeros((0, features))


def hay(rng: Generator, share: float, scale: float) -> Parts:
    """A haystack: outliers in every direction, as long as the good rows times `scale`."""
    n, D, d = 200, 50, 5
    good, bad = counts(n, share)
    basis = orthonormal(rng, D, d)
    rows = rng.standard_normal((good, d)) / np.sqrt(d) @ basis.T + 0.01 * rng.standard_normal((good, D))
    return Parts(rows, scale * rng.standard_normal((bad, D)) / np.sqrt(D), basis, np.full(d, 1 / d + 0.01**2))


def shifted(rng: Generator, n: int, spectrum: np.ndarray, d: int, share: float, shift: float, shrink: float) -> Parts:
    """Axes with a spectrum; the outliers are shrunk and shifted along the first axis beyond the subspace.

    `low` has that axis at d; `high` too: their spectra say which one it is.
    """
    D = len(spectrum)
    good, bad = counts(n, share)
    rows = rng.standard_normal((good, D)) * np.sqrt(spectrum)
    outliers = rng.standard_normal((bad, D)) * np.sqrt(spectrum / shrink)
    outliers[:, d] += shift
    return Parts(rows, outliers, np.eye(D)[:, :d], spectrum[:d])


def low(rng: Generator, share: float, shift: float, shrink: float) -> Parts:
    """Few features."""
    return shifted(rng, 100, np.array([8.0, 4.0, 2.0, 1.0]), 3, share, shift, shrink)


def high(rng: Generator, share: float, shift: float, shrink: float) -> Parts:
    """More features than samples."""
    spectrum = np.concatenate([[17, 13.5, 8, 3, 1.0], np.linspace(0.095, 0.001, 95)])
    return shifted(rng, 50, spectrum, 5, share, shift, shrink)


def heavy(rng: Generator, freedom: float) -> Parts:
    """Elliptical t: whole rows are divided by the root of a chi-square."""
    n, D, d = 200, 30, 3
    basis = orthonormal(rng, D, d)
    rows = plane(rng, n, basis, PLANE, noise=0.3)
    length = np.sqrt(rng.chisquare(freedom, n) / freedom)
    return Parts(rows / length[:, None], none(D), basis, None)


PLANE = np.array([3, 2, 1.5])
"""Standard deviations along the subspace where d is always 3."""


def plane(rng: Generator, n: int, basis: np.ndarray, deviations: np.ndarray, noise: float) -> np.ndarray:
    """Rows near a subspace."""
    D, d = basis.shape
    return (rng.standard_normal((n, d)) * deviations) @ basis.T + noise * rng.standard_normal((n, D))


def beside(rng: Generator, share: float, d: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """What clu and lin share: good rows, their basis, its deviations, a direction beside it, how many outliers."""
    n, D, d = 200, 30, int(d)
    basis = orthonormal(rng, D, d + 1)
    basis, direction = basis[:, :d], basis[:, d]
    good, bad = counts(n, share)
    deviations = np.linspace(3, 1.5, d) if d > 1 else np.array([3.0])
    return plane(rng, good, basis, deviations, noise=0.1), basis, deviations, direction, bad


def cluster(rng: Generator, share: float, distance: float, d: float) -> Parts:
    """A tight cluster in one direction beside the subspace."""
    rows, basis, deviations, direction, bad = beside(rng, share, d)
    outliers = distance * direction + 0.3 * rng.standard_normal((bad, len(basis)))
    return Parts(rows, outliers, basis, deviations**2 + 0.1**2)


def line(rng: Generator, share: float, spread: float, d: float) -> Parts:
    """Outliers on both sides along one direction beside the subspace."""
    rows, basis, deviations, direction, bad = beside(rng, share, d)
    outliers = spread * rng.standard_normal((bad, 1)) * direction + 0.3 * rng.standard_normal((bad, len(basis)))
    return Parts(rows, outliers, basis, deviations**2 + 0.1**2)


def far(rng: Generator, share: float, distance: float) -> Parts:
    """Outliers about one common far point."""
    n, D, d = 200, 30, 3
    basis = orthonormal(rng, D, d)
    good, bad = counts(n, share)
    rows = plane(rng, good, basis, PLANE, noise=0.1)
    direction = rng.standard_normal(D)
    direction /= np.linalg.norm(direction)
    outliers = distance * (direction + 0.5 * rng.standard_normal((bad, D)) / np.sqrt(D))
    return Parts(rows, outliers, basis, PLANE**2 + 0.1**2)


def cells(rng: Generator, share: float) -> Parts:
    """Every cell may be bad, whatever its row."""
    n, D, d = 200, 50, 3
    basis = orthonormal(rng, D, d)
    rows = plane(rng, n, basis, PLANE, noise=0.05)
    bad = rng.random((n, D)) < share
    rows[bad] = rng.uniform(-10, 10, bad.sum())
    return Parts(rows, none(D), basis, None)


KINDS: dict[str, Callable[..., Parts]] = {
    "hay": hay,
    "low": low,
    "high": high,
    "t": heavy,
    "clu": cluster,
    "lin": line,
    "shift": far,
    "cell": cells,
}
