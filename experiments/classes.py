"""Four classes in three dimensions with vector-level outliers: what the paper's Table 1 describes in words.

The paper prints no generator. Here one direction tells all four classes apart, a second one only two pairs, and a
fraction of each class is moved far along the second: PCA's first component follows the moved samples and mixes classes.
"""

from __future__ import annotations

import numpy as np

ALONG = np.array([[1, 1, 1], [1, -1, 0], [1, 1, -2]]) / np.sqrt([[3], [2], [6]])
"""Where classes lie, where outliers go, and where nothing is."""
CENTERS = np.array([[-6.5, -2.5], [-3.0, 2.5], [3.0, 2.5], [6.5, -2.5]])
TRAINING_SHARE = 0.7


def four_classes(
    seed: int, per_class: int = 1050, fraction: float = 0.05, shift: float = 30.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples, their classes, and whether they were moved, in random order."""
    rng = np.random.default_rng(seed)
    moved = round(fraction * per_class)
    samples = []
    for center in CENTERS:
        own = rng.standard_normal((per_class, 3))
        own[:, :2] += center
        own[:moved, 1] += np.sign(center[1]) * shift * rng.uniform(0.7, 1.3, moved)
        samples.append(own @ ALONG)
    order = rng.permutation(4 * per_class)
    outlying = np.tile(np.arange(per_class) < moved, 4)
    return np.vstack(samples)[order], np.repeat(np.arange(4), per_class)[order], outlying[order]


def parts(count: int) -> tuple[slice, slice]:
    """The first 70 % to train on, the rest to test on."""
    cut = round(TRAINING_SHARE * count)
    return slice(cut), slice(cut, None)
