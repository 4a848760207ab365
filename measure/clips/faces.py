"""Faces under many illuminations: the fraction of shadow pixels that a method fills, and the edges that it leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measure.arrays import Array
from measure.markdown import table
from measure.program import Program, value

SUBJECTS = ("yaleB01", "yaleB02")
DARK, LIT = 20, 40
METHODS = {
    "`fill` (default)": (),
    "`pca`": ("--method", "pca"),
    "`pcp`": ("--method", "pcp"),
    "`tae`, 55 degrees": ("--method", "tae", "--max-angle", "55"),
    "`cells`": ("--method", "cells"),
}
"""Options by the name of a method."""
DEFAULT, *OTHERS = METHODS
RIVALS = OTHERS[:2]
INPUT = "input"


@dataclass(frozen=True)
class Relit:
    """Measurements of the images of a face without shadows."""

    filled: float
    changed: float
    step: float
    seconds: float


def images(files: list[Path]) -> Array:
    """Images as signed integers."""
    from PIL import Image

    return np.stack([np.asarray(Image.open(file).convert("L"), dtype=int) for file in files])


def by_number(file: Path) -> list[tuple[int, str]]:
    """The program's order of files: digits in names are compared as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", file.name)]


def step_at_edges(originals: Array, shown: Array) -> float:
    """The mean step in gray levels between neighbors at shadow boundaries of the original, median over images.

    The median, since one image of yaleB02 is damaged and has more edges than all others together.
    """
    means = []
    for original, image in zip(originals, shown, strict=True):
        steps = []
        for axis in (0, 1):
            first, second = (np.delete(original, end, axis) for end in (-1, 0))
            at_edge = (np.minimum(first, second) < DARK) & (np.maximum(first, second) >= LIT)
            steps.append(np.abs(np.diff(image, axis=axis))[at_edge])
        if any(part.size for part in steps):
            means.append(np.concatenate(steps).mean())
    return float(np.median(means))


def relight(program: Program, face: Path, options: tuple[str, ...], out: Path) -> Relit:
    """Runs the program on a face and measures the images that it writes."""
    summary = program.summary("shadows", face, out, *options)
    originals = images(sorted(face.iterdir(), key=by_number))
    shown = images(sorted((out / "relit").iterdir()))
    filled = float((shown[originals < DARK] > LIT).mean())
    reported = value(summary, "dark_lit_fraction")
    if abs(filled - reported) > 1e-9:
        raise ValueError(f"{face.name}: {filled} of the dark pixels are filled, the program reports {reported}")
    return Relit(filled, value(summary, "lit_error"), step_at_edges(originals, shown), value(summary, "seconds"))


def unchanged(face: Path) -> Relit:
    """The measurements of the input images."""
    originals = images(sorted(face.iterdir(), key=by_number))
    return Relit(0.0, 0.0, step_at_edges(originals, originals), 0.0)


def measure(program: Program, data: Path, folder: Path) -> dict[str, dict[str, Relit]]:
    """All methods on all faces: measurements by face and method."""
    found = {}
    for subject in SUBJECTS:
        face = data / "yaleB" / subject
        found[subject] = {INPUT: unchanged(face)}
        for method, options in METHODS.items():
            found[subject][method] = relight(program, face, options, folder / "faces")
    return found


def text(found: dict[str, dict[str, Relit]]) -> str:
    """The measurements as a table, and their definitions."""
    note = (
        f"Two faces of the Extended Yale Face Database B, 64 illuminations each. *Filled*: percentage of pixels below "
        f"gray level {DARK} that are above {LIT} afterwards. *Step at edges*: residual gradient at shadow boundaries "
        f"(neighbors below {DARK} and at least {LIT} in the input) in gray levels, median over images; lower is better "
        f"unless the face is smoothed. *Changed*: mean absolute change of pixels from {LIT} to 249 in gray levels; a "
        "smoothed face has a large value.\n\n"
    )
    body = [
        [
            subject,
            method,
            f"{100 * relit.filled:.1f} %",
            f"{relit.step:.1f}",
            f"{relit.changed:.1f}",
            f"{relit.seconds:.2f}" if method != INPUT else "",
        ]
        for subject, methods in found.items()
        for method, relit in methods.items()
    ]
    return note + table(["face", "method", "filled", "step at edges", "changed", "time, s"], body, words=2)
