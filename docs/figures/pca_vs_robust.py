"""Figures of the README and the guide: PCA beside the robust fit, and the outlier map of the same data.

Usage: python docs/figures/pca_vs_robust.py [--program PATH] [--output DIR]

`make figures` builds the program and runs this. The data are generated: 140 samples along a line in the plane and a
cluster of 60 outliers (30 %). The program fits one component by `pca` and by `robust` (the default) and flags outliers;
only the angles in the titles are computed here. Writes pca-vs-robust.png and outlier-map.png. Needs Matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import json
import struct
import subprocess
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt  # the backend is selected first

HERE = Path(__file__).resolve().parent
TRUE_DIRECTION = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
INLIER, OUTLIER, LINE = "#4472a8", "#c8553d", "#1b1b1b"


def samples() -> np.ndarray:
    """140 samples along TRUE_DIRECTION, then a cluster of 60 outliers."""
    rng = np.random.default_rng(0)
    across = np.array([-TRUE_DIRECTION[1], TRUE_DIRECTION[0]])
    scores = rng.standard_normal((140, 2)) * [4, 0.5]
    cluster = 14 * across + 3 * TRUE_DIRECTION + 0.6 * rng.standard_normal((60, 2))
    return np.vstack([scores @ np.vstack([TRUE_DIRECTION, across]), cluster])


def array(model: Path, name: str) -> np.ndarray:
    """One float64 array of a model file (safetensors: length of the header, header, data)."""
    data = model.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + length])[name]
    start, end = entry["data_offsets"]
    return np.frombuffer(data[8 + length + start : 8 + length + end], "<f8").reshape(entry["shape"])


def fit(program: Path, folder: Path, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Center and first component of a method."""
    model = folder / f"{method}.safetensors"
    run(program, "fit", folder / "data.npy", "--method", method, "-d", 1, "-o", model)
    return array(model, "center"), array(model, "components")[0]


def run(program: Path, *arguments: object) -> None:
    """Runs the program."""
    subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def draw(ax: plt.Axes, title: str, X: np.ndarray, found: tuple[np.ndarray, np.ndarray], wrong: np.ndarray) -> None:
    """One panel: samples and the first component through the center."""
    center, direction = found
    angle = np.rad2deg(np.arccos(min(1.0, abs(direction @ TRUE_DIRECTION))))
    ax.scatter(*X[~wrong].T, s=14, color=INLIER, linewidths=0, label="flag: regular" if wrong.any() else "sample")
    if wrong.any():
        ax.scatter(*X[wrong].T, s=14, color=OUTLIER, linewidths=0, label="flag: outlier (any other)")
    ends = center + np.outer([-14, 14], direction)
    ax.plot(*ends.T, color=LINE, linewidth=1.8, label="first component")
    ax.set_title(f"{title}: {angle:.1f}° from the true direction", fontsize=11)
    ax.set(xlim=(-14, 14), ylim=(-9, 17), aspect="equal", xticks=[], yticks=[])
    ax.legend(loc="lower right", fontsize=8, frameon=False)


def main() -> None:
    """Fits and draws."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=HERE.parents[1] / "target/release/steradian")
    parser.add_argument("--output", type=Path, default=HERE.parent)
    options = parser.parse_args()
    program = options.program.resolve()
    X = samples()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "data.npy", X)
        classical, robust = (fit(program, folder, method) for method in ("pca", "robust"))
        flags, map_ = folder / "flags.csv", options.output / "outlier-map.png"
        run(program, "outliers", folder / "robust.safetensors", folder / "data.npy", "-o", flags, "--plot", map_)
        with flags.open() as lines:
            wrong = np.array([row["flag"] != "regular" for row in csv.DictReader(lines)])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), dpi=110, layout="constrained")
    draw(left, "PCA", X, classical, np.zeros(len(X), bool))
    draw(right, "robust (default)", X, robust, wrong)
    figure.savefig(options.output / "pca-vs-robust.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
