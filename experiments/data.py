"""Real data: their files, and errors for absent or damaged ones."""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image


class MissingDataError(Exception):
    """An absent or damaged data set; the message names it and its source."""


@dataclass(frozen=True)
class Clip:
    """A clip of the data folder: the file, its source, and the hand-drawn foreground of one frame."""

    title: str
    file: str
    source: str
    mask: tuple[str, int] | None = None


CLIPS = {
    "caviar": Clip(
        "CAVIAR corridor (158 frames, half size)", "caviar/corridor_158.npy", "the CAVIAR project, EC IST 2001 37540"
    ),
    "hall": Clip("I2R Airport Hall (100 of 3584 frames)", "i2r/airport_hall_100.npy", "Li et al. 2004"),
    "curtain": Clip(
        "I2R Curtain (633 frames)", "i2r/curtain_633.npy", "Li et al. 2004", ("i2r/curtain_633.mask_22.png", 22)
    ),
    "water": Clip(
        "I2R Water Surface (48 of 633 frames)",
        "i2r/water_surface_48.npy",
        "Li et al. 2004",
        ("i2r/water_surface_48.mask_23.png", 23),
    ),
}


def require(folder: Path | None, name: str, what: str, source: str) -> Path:
    """The path of a data set, which must exist."""
    if folder is None:
        raise MissingDataError(
            f"{what} is read from the folder in STERADIAN_DATA or --data, and none is given (from {source})"
        )
    path = folder / name
    if not path.exists():
        raise MissingDataError(f"{what}: {name} is missing in the data folder (from {source})")
    return path


def clip(folder: Path | None, key: str) -> np.ndarray:
    """Frames of a clip, (frames, height, width) of u8."""
    entry = CLIPS[key]
    path = require(folder, entry.file, entry.title, entry.source)
    frames = np.load(path)
    if frames.ndim != 3 or frames.dtype != np.uint8:
        raise MissingDataError(
            f"{path} holds {frames.dtype} of shape {frames.shape} where (frames, height, width) of uint8 is expected"
        )
    return frames


def foreground(folder: Path | None, key: str) -> tuple[np.ndarray, int] | None:
    """The hand-drawn foreground of a clip's frame and that frame's index, where there is one."""
    entry = CLIPS[key]
    if entry.mask is None:
        return None
    name, frame = entry.mask
    mask = np.asarray(Image.open(require(folder, name, f"the mask of {entry.title}", entry.source)).convert("L")) > 127
    return mask, frame


def faces(folder: Path | None, subject: str) -> np.ndarray:
    """The images of a subject of Extended Yale B, all of one size."""
    path = require(folder, f"yaleB/{subject}", f"Extended Yale B, subject {subject}", "Georghiades et al. 2001")
    return images(path)


def images(folder: Path) -> np.ndarray:
    """The gray images of a folder in the order of their names; all must have one size."""
    names = sorted(p for p in folder.iterdir() if p.suffix.lower() in {".pgm", ".png", ".jpg"})
    if not names:
        raise MissingDataError(f"{folder} holds no images (.pgm, .png or .jpg)")
    found = [np.asarray(Image.open(name).convert("L")) for name in names]
    for name, image in zip(names, found, strict=True):
        if image.shape != found[0].shape:
            raise MissingDataError(
                f"{name} is {image.shape[1]} x {image.shape[0]} where {names[0].name} is "
                f"{found[0].shape[1]} x {found[0].shape[0]}; put images of one size into the folder"
            )
    return np.stack(found)


@dataclass(frozen=True)
class Actions:
    """Feature vectors of sequences, their classes, and whether a sequence is for training."""

    title: str
    samples: np.ndarray
    labels: np.ndarray
    training: np.ndarray


JOINTS = 20
FRAMES = 20
"""Every sequence is resampled to this many frames."""
HIP = 6
"""The joint in the middle of the hips, the origin of the others."""


def actions_of_skeletons(folder: Path | None) -> Actions:
    """MSR Action3D, the odd subjects: subjects 1, 3 and 5 train, 7 and 9 test."""
    name, what = "msraction3d/real3d_odd_subjects.tar.gz", "MSR Action3D skeletons, odd subjects"
    path = require(folder, name, what, "Li, Zhang and Liu 2010")
    samples, labels, subjects = [], [], []
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda m: m.name):
            found = re.search(r"a(\d+)_s(\d+)_e(\d+)", member.name)
            content = archive.extractfile(member) if found and member.isfile() else None
            if found is None or content is None:
                continue
            sequence = np.loadtxt(content)
            if len(sequence) == 0 or len(sequence) % JOINTS or sequence.shape[1] < 3:
                raise MissingDataError(
                    f"{path}: {member.name} has {len(sequence)} lines, which are not {JOINTS} joints a frame"
                )
            features = skeleton_features(sequence[:, :3].reshape(-1, JOINTS, 3))
            if features is not None:
                samples.append(features)
                labels.append(int(found[1]) - 1)
                subjects.append(int(found[2]))
    if not samples:
        raise MissingDataError(f"{path} holds no sequences named aAA_sSS_eEE")
    return Actions(what, np.array(samples), np.array(labels), np.isin(subjects, (1, 3, 5)))


def skeleton_features(frames: np.ndarray) -> np.ndarray | None:
    """A sequence of (frames, joints, 3) as one vector: joints relative to the hip, in units of the body, at 20 times.

    Frames that are all zero are dropped. The unit is the median distance of joints from the hip over the sequence.
    """
    frames = frames[np.abs(frames).sum(axis=(1, 2)) > 0]
    if len(frames) < 2:
        return None
    seen = frames - frames[:, HIP : HIP + 1]
    unit = np.median(np.linalg.norm(seen, axis=2)[:, np.arange(JOINTS) != HIP])
    if unit == 0:
        return None
    flat = (seen / unit).reshape(len(seen), -1)
    at = np.linspace(0, len(flat) - 1, FRAMES)
    return np.stack([np.interp(at, np.arange(len(flat)), column) for column in flat.T], axis=1).ravel()


def actions_of_arrays(folder: Path | None, name: str) -> Actions:
    """ST-GCN features of an original set as arrays: `features.npy` (n x D), `labels.npy` and `training.npy` (n)."""
    path = require(folder, name, f"ST-GCN features of {name}", "the authors of the paper; they are not published")
    arrays = {}
    for part in ("features", "labels", "training"):
        file = path / f"{part}.npy"
        if not file.exists():
            raise MissingDataError(
                f"{file} is missing; give features.npy (n x D), labels.npy (n) and training.npy (n, true or false)"
            )
        arrays[part] = np.load(file)
    count = len(arrays["features"])
    for part in ("labels", "training"):
        if arrays[part].shape != (count,):
            raise MissingDataError(
                f"{path}/{part}.npy has shape {arrays[part].shape} where ({count},) would match features.npy"
            )
    labels = np.unique(arrays["labels"], return_inverse=True)[1]
    return Actions(name, arrays["features"].astype(float), labels, arrays["training"].astype(bool))
