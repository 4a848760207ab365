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
"""Gap between two images, as a fraction of their larger side."""


def components(
    estimator: Any,
    *,
    ax: Axes | None = None,
    shape: tuple[int, int] | None = None,
    which: Sequence[int] | None = None,
    columns: int | None = None,
) -> Axes:
    """Draw components as images: red for positive weights, blue for negative ones, white for 0.

    Parameters
    ----------
    estimator : AngularEmbedding or PCA
        An estimator fitted on images.
    ax : matplotlib axes, optional
        The axes to draw on; those of a new figure by default.
    shape : (height, width), optional
        Shape of an image. Not needed if the estimator was fitted on an array of (samples, height, width), or its file.
    which : sequence of int, optional
        Indices of components, from 0; all by default.
    columns : int, optional
        Number of images per row; about the number of rows by default.

    Returns
    -------
    matplotlib axes
    """
    check_is_fitted(estimator)
    shape = shape or estimator._fitted_model().image
    if shape is None:
        msg = f"the shape of an image is unknown; pass shape=(height, width) with {estimator.n_features_in_} pixels"
        raise ValueError(msg)
    height, width = shape
    if height * width != estimator.n_features_in_:
        msg = f"shape = ({height}, {width}) does not match {estimator.n_features_in_} pixels; pass another shape"
        raise ValueError(msg)
    selected = list(range(estimator.n_components_)) if which is None else list(which)
    unknown = [k for k in selected if not 0 <= k < estimator.n_components_]
    if unknown or not selected:
        msg = f"which = {selected} exceeds the {estimator.n_components_} components of the model; count from 0"
        raise ValueError(msg)
    columns = columns or int(np.ceil(np.sqrt(len(selected))))
    rows = -(-len(selected) // columns)
    gap = max(1, round(GAP * max(height, width)))
    mosaic = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap), np.nan)
    for place, k in enumerate(selected):
        top, left = place // columns * (height + gap), place % columns * (width + gap)
        image = estimator.components_[k].reshape(shape)
        # Each component is divided by its largest entry, since all have norm 1.
        mosaic[top : top + height, left : left + width] = image / np.abs(image).max()
    ax = axes(ax)
    ax.imshow(mosaic, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    first, last = selected[0], selected[-1]
    ax.set_title(f"Component {first}" if len(selected) == 1 else f"Components {first} to {last}, row by row")
    return ax
