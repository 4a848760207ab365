"""The cell map: the residual of every cell as a color, samples by features, with marks of flagged samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from steradian._parameters import count, one_of
from steradian.plot._axes import FLAG_STYLES, axes, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from steradian._data import SamplesLike
    from steradian._diagnosis import Diagnosis

WORST = 40
"""Largest number of samples of a map of the worst ones, unless given."""
CHUNK_CELLS = 1 << 21
"""Number of cells whose diagnosis is in memory at once."""
MAX_ROWS, MAX_COLUMNS = 420, 480
"""Largest numbers of blocks."""
MAX_LABELS = 60
"""Largest number of labels of an axis."""

NEUTRAL, MISSING = (247, 247, 247), (178, 178, 178)
LOW = ((74, 144, 201), (33, 102, 172), (5, 48, 97))
HIGH = ((227, 104, 90), (178, 24, 43), (103, 0, 31))
"""Bad cells below and above their expected values, from the smallest residual to the largest."""
CUTOFF, LARGEST = 2.576, 6.0
"""Residuals, in standard deviations, from which on cells are bad, and of the darkest color."""
TINT = 0.3
"""Weight of the color of bad cells in that of the largest residual of a usable cell."""


def cell_map(
    estimator: Any,
    X: SamplesLike,
    *,
    rows: str | int | Sequence[int] = "worst",
    training: bool = False,
    names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cells of samples: red above their expected values, blue below, gray for missing cells.

    Bad cells have strong colors, which are darker for larger residuals; usable cells have pale ones. Marks at the left
    belong to flagged samples. If there are many samples or features, a block of cells has the mean color of its bad and
    missing cells, and usable cells are neutral.

    Parameters
    ----------
    estimator : AngularEmbedding
        An estimator fitted with ``method="robust"``, ``"rows"`` or ``"cells"``.
    X : samples
        As for `transform`.
    rows : "worst", "data", int or sequence of int, default="worst"
        ``"worst"``: at most 40 samples, the worst first: flagged samples by their distances, then the others by their
        bad cells. An integer: that many of the worst. ``"data"``: all samples in the order of the data. A sequence: the
        samples of these indices, in this order.
    training : bool, default=False
        True: use the cutoffs of the fit's own rows, as in `diagnose`.
    names : sequence, optional
        One label per sample; the index of a pandas DataFrame, or the number of the sample, by default.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure, of a suitable size, by default.

    Returns
    -------
    matplotlib axes
    """
    check_is_fitted(estimator)
    diagnosis = estimator.diagnose(X, training=training)
    selected, title = _selected(diagnosis, rows)
    if names is None:
        names = list(X.index) if hasattr(X, "iloc") else range(len(diagnosis))
    colors, step, counts = _colors(diagnosis, selected)
    height, width = colors.shape[:2]
    if ax is None:
        ax = axes(None)
        size = min(4.0 + 0.25 * width, 13.0), min(2.4 + 0.2 * height, 10.0)
        ax.figure.set_size_inches(*size)  # type: ignore[union-attr]
    image = ax.imshow(colors, interpolation="nearest", aspect="auto", zorder=1)
    image.set_extent((-0.5, width - 0.5, height - 0.5, -0.5))
    _separate(ax, height, width)
    _mark_rows(ax, diagnosis, selected, step[0])
    if step != (1, 1):
        title += f"; a block is {step[0]} x {step[1]} cells"
    ax.set_title(title, pad=10)
    ax.set(xlabel="features", ylabel="samples")
    _label(ax.set_yticks, height, step[0], [str(names[sample]) for sample in selected])
    _label(ax.set_xticks, width, step[1], [str(name) for name in diagnosis.feature_names])
    longest = max((len(text.get_text()) for text in ax.get_xticklabels()), default=0)
    ax.tick_params(axis="x", labelrotation=90 if longest > 2 else 0)
    ax.tick_params(length=0, labelsize="small")
    ax.tick_params(axis="y", pad=14)
    for spine in ax.spines.values():
        spine.set_visible(False)
    _legend(ax, diagnosis, selected, counts)
    return ax


def _selected(diagnosis: Diagnosis, rows: str | int | Sequence[int]) -> tuple[npt.NDArray[np.intp], str]:
    """The indices of the samples of a map, and its title."""
    n = len(diagnosis)
    if isinstance(rows, str):
        if one_of("rows", rows, ("worst", "data"), "a number of samples, or their indices") == "data":
            return np.arange(n), f"Cells of {n} samples, in the order of the data"
        return _worst(diagnosis, WORST)
    if isinstance(rows, (int, np.integer)):
        return _worst(diagnosis, count("rows", rows))
    return np.asarray(diagnosis._rows(rows), dtype=np.intp), f"Cells of {len(rows)} of {n} samples"


def _worst(diagnosis: Diagnosis, most: int) -> tuple[npt.NDArray[np.intp], str]:
    """The worst samples: flagged ones by their distances, then the others by their bad cells."""
    n = len(diagnosis)
    found = [np.zeros(0)]
    for chunk in _chunks(diagnosis, np.arange(n)):
        cells = diagnosis.cells_of(chunk)
        found.append(np.where(cells.bad, np.abs(cells.residual_sd), 0.0).sum(axis=1))
    badness = np.concatenate(found)
    regular = diagnosis.is_regular
    order = np.lexsort((np.arange(n), -badness, -np.where(regular, 0.0, diagnosis.excess)))[:most]
    if len(order) == n:
        return order, f"Cells of {n} samples, the worst first"
    return order, f"Cells of the {len(order)} worst of {n} samples"


def _chunks(diagnosis: Diagnosis, selected: npt.NDArray[np.intp], multiple: int = 1) -> list[npt.NDArray[np.intp]]:
    """Parts of a selection whose diagnosis fits into memory, of a multiple of this many samples."""
    size = max(1, CHUNK_CELLS // max(1, len(diagnosis.feature_names)) // multiple) * multiple
    return [selected[start : start + size] for start in range(0, len(selected), size)]


def _colors(
    diagnosis: Diagnosis, selected: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.float64], tuple[int, int], tuple[int, int, int]]:
    """The color of each block of cells, the samples and features per block, and the counts of cells in the legend."""
    features = len(diagnosis.feature_names)
    step = _round(-(-len(selected) // MAX_ROWS)), _round(-(-features // MAX_COLUMNS))
    above = below = missing = 0
    blocks = []
    for chunk in _chunks(diagnosis, selected, step[0]):
        cells = diagnosis.cells_of(chunk)
        above += int((cells.bad & (cells.residual_sd > 0)).sum())
        below += int((cells.bad & (cells.residual_sd < 0)).sum())
        missing += int(cells.missing.sum())
        colors = cell_colors(cells.residual_sd, cells.bad, cells.missing, tint=TINT if step == (1, 1) else 0.0)
        for axis in (0, 1):
            starts = np.arange(0, colors.shape[axis], step[axis])
            lengths = np.diff([*starts, colors.shape[axis]])
            sums = np.add.reduceat(colors, starts, axis=axis)
            colors = sums / lengths.reshape([-1 if i == axis else 1 for i in range(3)])
        blocks.append(colors / 255)
    none = np.zeros((0, -(-features // step[1]), 3))
    return np.concatenate([none, *blocks]), step, (above, below, missing)


def cell_colors(
    residual: npt.NDArray[np.float64],
    bad: npt.NDArray[np.bool_],
    missing: npt.NDArray[np.bool_],
    *,
    tint: float = TINT,
) -> npt.NDArray[np.float64]:
    """The color of each cell: red, green and blue from 0 to 255."""
    size = np.nan_to_num(np.abs(residual), nan=0.0, posinf=LARGEST)
    above = (residual > 0)[..., None]
    ramps = [np.where(above, high, low).astype(np.float64) for low, high in zip(LOW, HIGH, strict=True)]
    pale = _mixed(np.asarray(NEUTRAL, dtype=np.float64), ramps[0], tint * np.minimum(size / CUTOFF, 1.0))
    along = 2 * np.clip((size - CUTOFF) / (LARGEST - CUTOFF), 0.0, 1.0)
    strong = np.where(
        (along <= 1)[..., None],
        _mixed(ramps[0], ramps[1], np.minimum(along, 1.0)),
        _mixed(ramps[1], ramps[2], np.maximum(along - 1, 0.0)),
    )
    colors = np.where(bad[..., None], strong, pale)
    return np.where(missing[..., None], np.asarray(MISSING, dtype=np.float64), colors)


def _mixed(start: npt.NDArray[Any], end: npt.NDArray[Any], part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(start + part[..., None] * (end - start))


def _round(least: int) -> int:
    """The smallest of 1, 2 and 5 times a power of ten that is at least `least`."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= least:
                return digit * power
        power *= 10


def _separate(ax: Axes, height: int, width: int) -> None:
    """White lines between cells, if there are few."""
    if height > MAX_LABELS or width > MAX_LABELS:
        return
    ax.set_xticks(np.arange(width + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(height + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1, zorder=2)
    ax.tick_params(which="minor", length=0)


def _mark_rows(ax: Axes, diagnosis: Diagnosis, selected: npt.NDArray[np.intp], step: int) -> None:
    """Marks of flagged samples at the left of the map, in the colors of the outlier map."""
    from matplotlib.transforms import offset_copy

    left = offset_copy(ax.get_yaxis_transform(), fig=ax.figure, x=-7, units="points")  # type: ignore[arg-type]
    flags = diagnosis.flag[selected]
    size = 5.0 if len(selected) <= MAX_LABELS else 2.5
    for flag, (color, marker) in FLAG_STYLES.items():
        at = np.flatnonzero(flags == flag)
        if flag != "regular" and at.size:
            places = (at + 0.5) / step - 0.5
            ax.plot(np.zeros(at.size), places, marker, color=color, markersize=size, transform=left, clip_on=False)


def _label(set_ticks: Any, size: int, step: int, names: list[str]) -> None:
    """Labels of all blocks, or of some if there are many."""
    every = _round(-(-size // MAX_LABELS))
    places = np.arange(0, size, every)
    set_ticks(places, [names[place * step] for place in places])


def _legend(ax: Axes, diagnosis: Diagnosis, selected: npt.NDArray[np.intp], counts: tuple[int, int, int]) -> None:
    """The meaning of colors and marks, with counts, beside the map."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    above, below, missing = counts
    entries: list[Any] = [
        Patch(color=tuple(level / 255 for level in color), label=label)  # type: ignore[arg-type]
        for color, label in (
            (HIGH[1], f"bad, above expected value ({above})"),
            (LOW[1], f"bad, below ({below})"),
            (MISSING, f"missing ({missing})"),
        )
    ]
    flags = diagnosis.flag[selected]
    for flag, (color, marker) in FLAG_STYLES.items():
        if flag != "regular" and (flags == flag).any():
            label = f"{words(flag)} ({(flags == flag).sum()})"
            entries.append(Line2D([], [], color=color, marker=marker, linestyle="", markersize=5, label=label))
    ax.legend(
        handles=entries,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize="small",
        borderaxespad=0.0,
    )
