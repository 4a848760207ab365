"""Figures: made without a screen, written whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot  # noqa: E402  the backend is chosen before


def new_figure(rows: int, columns: int, inches: tuple[float, float]) -> tuple[Any, Any]:
    """A figure with axes that do not collide."""
    return pyplot.subplots(rows, columns, figsize=inches, layout="constrained")


def save(figure: Any, path: Path) -> Path:
    """Writes a figure under a name that only a whole file gets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    figure.savefig(unfinished, dpi=110, format="png", metadata={"Software": None})
    pyplot.close(figure)
    os.replace(unfinished, path)
    return path


def montage(path: Path, rows: dict[str, list[np.ndarray]], heads: list[str]) -> Path:
    """Gray pictures in rows: one for each name, one column for each head."""
    figure, axes = new_figure(len(rows), len(heads), (1.5 * len(heads), 1.45 * len(rows)))
    for line, (name, pictures) in zip(np.atleast_2d(axes), rows.items(), strict=True):
        for axis, picture in zip(line, pictures, strict=True):
            axis.imshow(np.clip(picture, 0, 255), cmap="gray", vmin=0, vmax=255)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=7)
    for axis, head in zip(np.atleast_2d(axes)[0], heads, strict=True):
        axis.set_title(head, fontsize=7)
    return save(figure, path)
