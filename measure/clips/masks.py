"""Scores of foreground masks by the conventions of CDnet.

| value in a mask of ground truth | meaning |
|---|---|
| 255 | foreground |
| 0, and 50 (shadow) | background |
| others (85 outside the region, 170 unknown) | not scored |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.arrays import Array
from measure.clips.footage import Footage

FOREGROUND, BACKGROUND = 255, (0, 50)
REGION = "ROI.bmp"


@dataclass
class Counts:
    """Pixels pooled over all scored frames of a clip."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0

    def add(self, mask: Array, truth: Array, region: Array | None = None) -> None:
        """Adds a frame: its mask, its ground truth, and the region that is scored."""
        scored = np.ones(truth.shape, bool) if region is None else region
        foreground, background = scored & (truth == FOREGROUND), scored & np.isin(truth, BACKGROUND)
        self.true_positives += int((mask & foreground).sum())
        self.false_negatives += int((~mask & foreground).sum())
        self.false_positives += int((mask & background).sum())

    def report(self) -> dict[str, float]:
        """Precision, recall and F1; 0 where undefined."""
        hits, wrong, missed = self.true_positives, self.false_positives, self.false_negatives
        return {
            "precision": hits / max(hits + wrong, 1),
            "recall": hits / max(hits + missed, 1),
            "f1": 2 * hits / max(2 * hits + wrong + missed, 1),
        }


def last_number(file: Path) -> int | None:
    """The last number in the name of a file."""
    found: list[str] = re.findall(r"\d+", file.stem)
    return int(found[-1]) if found else None


def ground_truth(footage: Footage) -> dict[int, Path]:
    """The masks of a clip by the index of the frame; files are matched by the last number in their names."""
    truth = footage.ground_truth
    files = sorted(truth.iterdir()) if truth.is_dir() else [truth]
    if not footage.clip.is_dir():
        return {number: file for file in files if (number := last_number(file)) is not None}
    frames = {last_number(file): index for index, file in enumerate(sorted(footage.clip.iterdir()))}
    return {frames[number]: file for file in files if (number := last_number(file)) in frames}


def region_of(footage: Footage) -> Array | None:
    """The region that is scored, from a file beside the ground truth."""
    truth = footage.ground_truth
    folders = [truth, truth.parent] if truth.is_dir() else [truth.parent, truth.parent.parent]
    file = next((folder / REGION for folder in folders if (folder / REGION).is_file()), None)
    return None if file is None else read_gray(file) >= 128


def read_gray(file: Path) -> Array:
    """An image in gray."""
    from PIL import Image

    return np.asarray(Image.open(file).convert("L"))
