"""Checks of the number and the names of features, with scikit-learn's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _check_feature_names

if TYPE_CHECKING:
    from steradian._data import Samples, SamplesLike


def set_feature_names(estimator: Any, X: SamplesLike, samples: Samples) -> None:
    """Set `feature_names_in_` if the data have names: columns of a data frame, the header of a file."""
    if samples.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(samples.feature_names, dtype=object)
    elif hasattr(X, "columns"):
        _check_feature_names(estimator, X, reset=True)


def check_names(estimator: Any, X: SamplesLike) -> None:
    """Reject a data frame with other column names than those of the fit; warn if only one of the two has names."""
    # Files are checked by their number of features: the same table may have been saved without its header.
    if isinstance(X, np.ndarray) or hasattr(X, "columns"):
        _check_feature_names(estimator, X, reset=False)


def check_width(estimator: Any, samples: Samples) -> None:
    """Reject data with another number of features than those of the fit."""
    width = samples.shape[1]
    if width != estimator.n_features_in_:
        msg = (
            f"X has {width} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features "
            "as input."
        )
        raise ValueError(msg)
