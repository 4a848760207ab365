"""Pictures of one face under many lights: how much of their shadows a method fills, and what edges it leaves."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

SUBJECTS = ("yaleB01", "yaleB02")
DARK, LIT = 20, 40
METHODS = {
    "`fill`, the default": [],
    "`--method pca`": ["--method", "pca"],
    "`--method pcp` (ALM)": ["--method", "pcp"],
    "`--method tae --angle 55`": ["--method", "tae", "--angle", "55"],
    "`--method cells`": ["--method", "cells"],
}
DEFAULT, *OTHERS = METHODS
RIVALS = OTHERS[:2]


@dataclass(frozen=True)
class Relit:
    """What became of the pictures of a face."""

    filled: float
    changed: float
    step: float
    seconds: float


def pictures(files: list[Path]) -> np.ndarray:
    """All of them, as whole numbers that can be subtracted."""
    return np.stack([np.asarray(Image.open(file).convert("L"), dtype=int) for file in files])


def by_number(file: Path) -> list[tuple[int, str]]:
    """The program's order of files: numbers in names count as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", file.name)]


def step_at_edges(originals: np.ndarray, shown: np.ndarray) -> float:
    """The mean step, in gray levels, between neighbours of which the original has one in the dark and one in the light.

    The median over pictures: one of yaleB02 is damaged, with more edges than all others together.
    """
    means = []
    for original, picture in zip(originals, shown, strict=True):
        steps = []
        for axis in (0, 1):
            first, second = (np.delete(original, end, axis) for end in (-1, 0))
            at_edge = (np.minimum(first, second) < DARK) & (np.maximum(first, second) >= LIT)
            steps.append(np.abs(np.diff(picture, axis=axis))[at_edge])
        if any(part.size for part in steps):
            means.append(np.concatenate(steps).mean())
    return float(np.median(means))


def relight(program: Path, face: Path, options: list[str], out: Path) -> Relit:
    """Runs the program on a face and measures what it shows."""
    command = [program, "shadows", face, "-o", out, *options]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((out / "summary.json").read_text())
    originals = pictures(sorted(face.iterdir(), key=by_number))
    shown = pictures(sorted((out / "relit").iterdir()))
    # The same pixels as the program counted, or the files are not in its order.
    filled = float((shown[originals < DARK] > LIT).mean())
    assert abs(filled - summary["dark_lit_share"]) < 1e-9, (filled, summary)
    return Relit(filled, summary["lit_error"], step_at_edges(originals, shown), summary["seconds"])


def untouched(face: Path) -> Relit:
    """The pictures themselves, to compare with."""
    originals = pictures(sorted(face.iterdir(), key=by_number))
    return Relit(0.0, 0.0, step_at_edges(originals, originals), 0.0)


def measure(program: Path, data: Path, folder: Path) -> dict[str, dict[str, Relit]]:
    """Every method on every face: what is shown, by face and method."""
    found = {}
    for subject in SUBJECTS:
        face = data / "yaleB" / subject
        found[subject] = {"the pictures themselves": untouched(face)}
        for method, options in METHODS.items():
            found[subject][method] = relight(program, face, options, folder / "faces")
    return found


def table(found: dict[str, dict[str, Relit]]) -> list[str]:
    """The measures, and what they mean."""
    lines = [
        f"Two faces of the Extended Yale Face Database B, 64 lights each. *Filled*: the share of pixels below level {DARK} that are "
        f"above {LIT} afterwards. *Step at edges*: the mean step between two neighbouring pixels of which the original has one below "
        f"{DARK} and one at {LIT} or above, which is where a shadow ends (the median over pictures); what is left of it is a seam or "
        f"belongs to the face. *Changed*: by how many levels "
        f"pixels from {LIT} to 249 move in the mean; a picture that is smoothed away would have small steps and be far off here.",
        "",
        "| face | method | filled | step at edges | changed | seconds |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for subject, methods in found.items():
        for method, relit in methods.items():
            seconds = f"{relit.seconds:.2f}" if relit.seconds else ""
            lines.append(
                f"| {subject} | {method} | {100 * relit.filled:.1f} % | {relit.step:.1f} | {relit.changed:.1f} | {seconds} |"
            )
    return lines
