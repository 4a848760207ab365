"""Public clips with their ground truth, as files that the program reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.arrays import Array

SWITCHED_ILLUMINATION = 0.6


@dataclass(frozen=True)
class Footage:
    """A clip and its ground truth."""

    name: str
    clip: Path
    ground_truth: Path


def with_masks(data: Path) -> list[Footage]:
    """The clips with foreground masks."""
    i2r, cdnet = data / "i2r", data / "cdnet2014"
    return [
        Footage("pedestrians", cdnet / "pedestrians/input", cdnet / "pedestrians/groundtruth"),
        Footage("highway", cdnet / "highway/input", cdnet / "highway/groundtruth"),
        Footage("curtain", i2r / "curtain_633.npy", i2r / "curtain_633.mask_22.png"),
        Footage("water", i2r / "water_surface_48.npy", i2r / "water_surface_48.mask_23.png"),
    ]


def hall(data: Path) -> Footage:
    """A clip with a background image."""
    sbi = data / "sbi"
    return Footage("HallAndMonitor", sbi / "hall_and_monitor_148.npy", sbi / "hall_and_monitor.background.png")


def frames(clip: Path) -> Array:
    """All frames of a clip in gray."""
    from PIL import Image

    if clip.suffix == ".npy":
        found: Array = np.load(clip)
        return found
    return np.stack([np.asarray(Image.open(file).convert("L")) for file in sorted(clip.iterdir())])


def switched(footage: Footage, folder: Path) -> Footage:
    """The clip with the illumination multiplied from the middle frame on; frames keep their numbers."""
    from PIL import Image

    made = folder / f"{footage.name}-switched"
    clip = frames(footage.clip)
    middle = len(clip) // 2
    dark = np.rint(clip[middle:] * SWITCHED_ILLUMINATION).astype(np.uint8)
    clip = np.concatenate([clip[:middle], dark])
    if footage.clip.suffix == ".npy":
        path = made.with_suffix(".npy")
        np.save(path, clip)
        return Footage(footage.name, path, footage.ground_truth)
    made.mkdir(exist_ok=True)
    for source, frame in zip(sorted(footage.clip.iterdir()), clip, strict=True):
        Image.fromarray(frame).save(made / f"{source.stem}.png", compress_level=1)
    return Footage(footage.name, made, footage.ground_truth)


def long_clip(path: Path, count: int, height: int, width: int) -> None:
    """Writes a long synthetic clip: a wall, slowly changing illumination, noise, and a block that crosses it."""
    draw = np.random.default_rng(7)
    clip = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(count, height, width))
    wall = 60 + 40 * np.sin(np.arange(width) / 20)[None, :] + 30 * np.cos(np.arange(height) / 15)[:, None] + 40
    noise = draw.integers(-4, 5, size=(16, height, width))
    for t in range(count):
        frame = wall * (0.9 + 0.1 * np.sin(t / 700)) + noise[t % 16]
        left = 3 * t % (width - 40)
        frame[100:160, left : left + 40] = 230
        clip[t] = np.clip(frame, 0, 255)
    clip.flush()
