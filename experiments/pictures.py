"""Figures, drawn without a display and written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from measure.files import write_atomically

mpl.use("Agg")

from matplotlib import pyplot


def new_figure(rows: int, columns: int, inches: tuple[float, float]) -> tuple[Any, Any]:
    """A figure with axes that do not overlap."""
    return pyplot.subplots(rows, columns, figsize=inches, layout="constrained")


def save(figure: Any, path: Path) -> Path:
    """Writes a figure atomically."""
    write_atomically(path, lambda part: figure.savefig(part, dpi=110, format="png", metadata={"Software": None}))
    pyplot.close(figure)
    return path


def montage(path: Path, rows: dict[str, list[np.ndarray]], heads: list[str]) -> Path:
    """Gray images in rows: one row per name, one column per head."""
    figure, axes = new_figure(len(rows), len(heads), (1.5 * len(heads), 1.45 * len(rows)))
    for line, (name, pictures) in zip(np.atleast_2d(axes), rows.items(), strict=True):
        for axis, picture in zip(line, pictures, strict=True):
            axis.imshow(np.clip(picture, 0, 255), cmap="gray", vmin=0, vmax=255)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=7)
    for axis, head in zip(np.atleast_2d(axes)[0], heads, strict=True):
        axis.set_title(head, fontsize=7)
    return save(figure, path)
