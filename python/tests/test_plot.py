"""Plots: each function returns the axes it draws on, and the figure equals the reviewed one.

Figures are compared without their texts, which differ between fonts. `STERADIAN_NEW_FIGURES=1` writes them again:
review them before you commit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.testing.compare import compare_images
from matplotlib.testing.decorators import remove_ticks_and_titles

from steradian import PCA, AngularEmbedding, ConeScreen, plot

FIGURES = Path(__file__).parent / "figures"
NEAR = 12
"""Largest root mean square of the differences of 8-bit pixels; versions of matplotlib smooth edges differently."""


def marked() -> np.ndarray:
    """One sample of each flag among regular ones."""
    rng = np.random.default_rng(2)
    X = (rng.standard_normal((150, 2)) * [4, 2]) @ np.eye(2, 7) + 0.3 * rng.standard_normal((150, 7))
    X[0] = [18, 0, 0, 0, 0, 0, 0]
    X[1, 4] = 12
    X[2] = [18, 0, 0, 0, 0, 25, 0]
    return X


def troubled(n: int = 100) -> np.ndarray:
    """Samples near a plane, with bad rows 0 to 4, bad cells and missing cells."""
    rng = np.random.default_rng(4)
    X = (rng.standard_normal((n, 2)) * [5, 3]) @ rng.standard_normal((2, 12)) + 0.3 * rng.standard_normal((n, 12))
    X[rng.random(X.shape) < 0.03] += 20
    X[rng.random(X.shape) < 0.02] -= 20
    X[:5] += 40 * rng.standard_normal((5, 12))
    X[rng.random(X.shape) < 0.06] = np.nan
    X[40:60, 7] = np.nan
    return X


def images() -> np.ndarray:
    """Frames of 12 x 16 pixels: a gradient and a bar of random intensities."""
    rng = np.random.default_rng(0)
    gradient, bar = np.tile(np.linspace(-1, 1, 16), (12, 1)), np.zeros((12, 16))
    bar[3:6] = 1
    weights = rng.standard_normal((80, 2)) * [40, 20]
    frames = 120 + weights @ np.stack([gradient.ravel(), bar.ravel()]) + rng.standard_normal((80, 192))
    return frames.reshape(80, 12, 16).clip(0, 255).astype(np.uint8)


def concentrated() -> np.ndarray:
    """Concentrated directions among scattered ones."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 6))
    X[:120] = 5 * rng.standard_normal((120, 1)) * [1, 1, 0, 0, 0, 0] + 0.8 * rng.standard_normal((120, 6))
    return X


DRAWINGS: dict[str, Callable[[Axes | None], Axes]] = {
    "outlier_map": lambda ax: plot.outlier_map(AngularEmbedding(2).fit(marked()).diagnose(marked()), ax=ax),
    "cell_map": lambda ax: plot.cell_map(AngularEmbedding(2).fit(troubled()), troubled(), ax=ax, rows=30),
    "cell_map_of_blocks": lambda ax: plot.cell_map(
        AngularEmbedding(2).fit(troubled(900)), troubled(900), ax=ax, rows="data"
    ),
    "scree": lambda ax: plot.scree(AngularEmbedding(5, method="angular").fit(marked()), ax=ax),
    "scree_of_pca": lambda ax: plot.scree(PCA(5).fit(marked()), ax=ax),
    "components": lambda ax: plot.components(AngularEmbedding(2).fit(images()), ax=ax),
    "score_pairs": lambda ax: plot.score_pairs(AngularEmbedding(2).fit(marked()), marked(), ax=ax),
    "tau_curve": lambda ax: plot.tau_curve(AngularEmbedding.paper(1, 40).fit(concentrated()), ax=ax),
    "angle_histogram": lambda ax: plot.angle_histogram(
        AngularEmbedding.paper(1, 40).fit(concentrated()), concentrated(), ax=ax
    ),
}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    with mpl.style.context("default"):
        yield
    plt.close("all")


@pytest.mark.parametrize("name", DRAWINGS)
def test_figure(name: str, tmp_path: Path) -> None:
    figure, ax = plt.subplots(figsize=(4, 3), dpi=80, layout="constrained")
    assert DRAWINGS[name](ax) is ax
    assert figure.axes == [ax], "no further axes"
    if name != "components":
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    assert ax.get_title()
    if os.environ.get("STERADIAN_NEW_FIGURES"):
        figure.savefig(FIGURES / f"{name}-with-texts.png", dpi=110)
    if legend := ax.get_legend():
        legend.remove()
    for text in list(ax.texts):
        text.remove()
    remove_ticks_and_titles(figure)
    ax.set(xlabel="", ylabel="")
    figure.set_layout_engine("none")
    ax.set_position((0.05, 0.05, 0.9, 0.9))
    drawn = (FIGURES if os.environ.get("STERADIAN_NEW_FIGURES") else tmp_path) / f"{name}.png"
    figure.savefig(drawn, metadata={"Software": None})
    difference = compare_images(str(FIGURES / f"{name}.png"), str(drawn), tol=NEAR)
    assert difference is None, difference


@pytest.mark.parametrize("name", DRAWINGS)
def test_without_axes_there_is_a_new_figure(name: str) -> None:
    before = plt.get_fignums()
    ax = DRAWINGS[name](None)
    assert ax.figure.number not in before


def test_the_outlier_map_shows_the_numbers() -> None:
    diagnosis = AngularEmbedding(2).fit(marked()).diagnose(marked())
    ax = plot.outlier_map(diagnosis, label=2, names=[f"s{i}" for i in range(150)])
    shown = np.concatenate([points.get_offsets() for points in ax.collections])
    expected = np.column_stack([diagnosis.score_distance, diagnosis.orthogonal_distance])
    np.testing.assert_allclose(np.sort(shown, axis=0), np.sort(expected, axis=0))
    lines = {tuple(line.get_xdata()) for line in ax.lines} | {tuple(line.get_ydata()) for line in ax.lines}
    assert (diagnosis.score_cutoff,) * 2 in lines
    assert (diagnosis.orthogonal_cutoff,) * 2 in lines
    assert [text.get_text() for text in ax.texts] == [f"s{i}" for i in diagnosis.worst(2)]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == f"regular ({diagnosis.counts()['regular']})"


def test_the_cone_of_a_screen() -> None:
    X = concentrated()
    screen = ConeScreen(40, center="mean").fit(X)
    model = AngularEmbedding.paper(1, 40).fit(X)
    np.testing.assert_allclose(screen.cone_angles(X), model.cone_angles(X), atol=1e-6)
    inside = screen.cone_angles(X) <= 40
    np.testing.assert_array_equal(inside, screen.support_)
    ax = plot.angle_histogram(screen, X)
    assert f"inside the cone ({inside.sum()})" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"sample {screen.pivot_}" in plot.tau_curve(screen).get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plot.components(PCA(2).fit(marked())), r"pass shape=\(height, width\) with 7 pixels"),
        (lambda: plot.components(PCA(2).fit(marked()), shape=(2, 3)), r"shape = \(2, 3\) does not match 7 pixels"),
        (lambda: plot.components(PCA(2).fit(images()), which=[2]), "exceeds the 2 components of the model"),
        (lambda: plot.score_pairs(PCA(1).fit(marked()), marked()), "exceeds the 1 components"),
        (lambda: plot.tau_curve(AngularEmbedding(2).fit(marked())), "this model has no cone"),
    ],
)
def test_what_cannot_be_drawn(draw: Callable[[], Axes], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        draw()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    model = PCA(2).fit(marked())
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install steradian\[plot\]"):
        plot.scree(model)


def test_a_cell_map_starts_with_the_worst_samples() -> None:
    X = troubled()
    model = AngularEmbedding(2, method="cells").fit(X)
    order = [int(label.get_text()) for label in plot.cell_map(model, X, rows=60).get_yticklabels()]
    diagnosis = model.diagnose(X)
    flagged = int((~diagnosis.is_regular).sum())
    assert 0 < flagged < 40
    assert order[:flagged] == diagnosis.worst().tolist()
    cells = diagnosis.cells_of(order)
    badness = np.where(cells.bad, np.abs(cells.residual_sd), 0).sum(axis=1)[flagged:]
    assert badness[0] > 0
    assert (np.diff(badness) <= 0).all()
    with pytest.raises(
        ValueError, match="rows = 'all' is not supported; expected 'worst', 'data', a number of samples"
    ):
        plot.cell_map(model, X, rows="all")
