"""Synthetic u8 matrices: clips in the four shapes of the paper, and others of any size.

Each is a static background, a few slow waves, noise and moving squares. The gaps between the eigenvalues are small, so
that an inaccurate solver is detected. Files are written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.files import write_atomically

BLOCK = 64
"""Rows generated per step."""


@dataclass(frozen=True)
class Shape:
    """A matrix: its name, n samples, D features, number of components, and the half-angle of the cone of TAE."""

    name: str
    samples: int
    features: int
    components: int = 5
    waves: int = 6
    degrees: int = 60

    @property
    def title(self) -> str:
        """Name and size, for the head of a column."""
        return f"{self.name} {self.samples} x {self.features}"

    @property
    def family(self) -> str:
        """The name without the factor of `scaled`."""
        return self.name.split("-")[0]

    def scaled(self, factor: int) -> Shape:
        """The matrix with n and D divided by a factor, for a trial of the benchmark."""
        if factor == 1:
            return self
        samples, features = max(48, self.samples // factor), max(512, self.features // factor)
        # A wide cone, since a narrow one would contain fewer samples than components.
        return Shape(f"{self.name}-{factor}", samples, features, self.components, self.waves, degrees=85)

    def file(self, folder: Path) -> Path:
        """The path of the matrix, which is written if it is missing."""
        path = folder / f"{self.name}-{self.samples}x{self.features}.npy"
        if not path.exists():
            write_atomically(path, lambda unfinished: write_clip(unfinished, self.samples, self.features, self.waves))
        return path


PAPER = (
    Shape("yale", 64, 32_256, components=9, waves=12, degrees=85),
    Shape("water", 633, 20_480),
    Shape("hall", 3584, 25_344),
    Shape("caviar", 1675, 110_592),
)
"""The sizes of the paper's table of running times. A cone of 60 degrees contains three samples of yale, too few."""


def write_clip(path: Path, samples: int, features: int, waves: int, seed: int = 0) -> None:
    """Writes a clip of `samples` frames of `features` pixels as a u8 .npy file."""
    rng = np.random.default_rng(seed)
    width = int(np.sqrt(features))
    corners = max(features // 2, features - 40 * width)
    pixel = np.arange(features, dtype=np.float32)
    background = (110 + 40 * np.sin(pixel / 977) + 25 * np.sin(pixel / 131 + 1)).astype(np.float32)
    basis = np.stack([np.cos(pixel * (0.003 * (k + 1)) + k) * (18 / (k + 1)) for k in range(waves)]).astype(np.float32)
    time = np.arange(samples)
    courses = [
        np.sin(time * 0.01 * (k + 1) + rng.uniform(0, 6)) + 0.3 * rng.standard_normal(samples) for k in range(waves)
    ]
    weights = np.stack(courses, 1).astype(np.float32)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(samples, features))
    for first in range(0, samples, BLOCK):
        rows = min(BLOCK, samples - first)
        block = background + weights[first : first + rows] @ basis
        block += rng.standard_normal(block.shape, dtype=np.float32) * 4
        for row in range(rows):
            for square in range(3):
                corner = ((first + row) * (37 + 11 * square) + square * features // 3) % corners
                side = min(20 + square * 5, width // 4)
                pixels = (corner + np.arange(side)[:, None] * width + np.arange(side)[None, :]).ravel()
                block[row, pixels % features] = rng.uniform(0, 255)
        out[first : first + rows] = np.clip(block, 0, 255).astype(np.uint8)
    out.flush()
