"""Components as images, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from steradian.plot._axes import axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

GAP = 0.04
"""Room between two images, as a share of their larger side."""


def components(
    estimator: Any,
    *,
    ax: Axes | None = None,
    shape: tuple[int, int] | None = None,
    which: Sequence[int] | None = None,
    columns: int | None = None,
) -> Axes:
    """Draw components as images: red where a pixel grows with the score, blue where it falls, white where it stays.

    Parameters
    ----------
    estimator : AngularEmbedding or PCA
        Fitted on images.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.
    shape : (height, width), optional
        Of an image. Known when the estimator was fitted on an array of (samples, height, width), or on a file of one.
    which : sequence of int, optional
        Components, counted from 0; all by default.
    columns : int, optional
        Images in a row; about as many as rows by default.

    Returns
    -------
    matplotlib axes
    """
    check_is_fitted(estimator)
    shape = shape or estimator._model.image
    if shape is None:
        msg = f"the shape of an image is not known; give shape=(height, width) with {estimator.n_features_in_} pixels"
        raise ValueError(msg)
    height, width = shape
    if height * width != estimator.n_features_in_:
        msg = f"an image of {height} x {width} does not have {estimator.n_features_in_} pixels; give another shape"
        raise ValueError(msg)
    chosen = list(range(estimator.n_components_)) if which is None else list(which)
    unknown = [k for k in chosen if not 0 <= k < estimator.n_components_]
    if unknown or not chosen:
        msg = f"component {unknown or chosen} is not among the {estimator.n_components_} of the model; count from 0"
        raise ValueError(msg)
    columns = columns or int(np.ceil(np.sqrt(len(chosen))))
    rows = -(-len(chosen) // columns)
    gap = max(1, round(GAP * max(height, width)))
    mosaic = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap), np.nan)
    for place, k in enumerate(chosen):
        top, left = place // columns * (height + gap), place % columns * (width + gap)
        image = estimator.components_[k].reshape(shape)
        # Each by its own largest entry: a component's length is 1 whatever it shows.
        mosaic[top : top + height, left : left + width] = image / np.abs(image).max()
    ax = axes(ax)
    ax.imshow(mosaic, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    first, last = chosen[0], chosen[-1]
    ax.set_title(f"Component {first}" if len(chosen) == 1 else f"Components {first} to {last}, row by row")
    return ax
