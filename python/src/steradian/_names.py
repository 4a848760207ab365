"""Checks of the number and the names of features, with scikit-learn's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _check_feature_names

from steradian._data import is_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steradian._data import Samples, SamplesLike


def set_feature_names(estimator: Any, names: Sequence[str] | None) -> None:
    """Set `feature_names_in_` if the data have names: columns of a data frame, the header of a file."""
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def check_names(estimator: Any, X: SamplesLike, samples: Samples) -> None:
    """Reject other names of features than those of the fit; warn if only one of the two has names."""
    if isinstance(X, np.ndarray) or (is_frame(X) and hasattr(X, "dtypes")):  # scikit-learn reads no record batches
        _check_feature_names(estimator, X, reset=False)
        return
    # A file without names is checked by its number of features: a table may have been saved without its header.
    names, expected = samples.feature_names, getattr(estimator, "feature_names_in_", None)
    if names is not None and expected is not None:
        require_equal_names(names, expected)


def require_equal_names(names: Sequence[str], expected: Sequence[str]) -> None:
    """Reject names of features other than the expected ones, or in another order."""
    if list(names) == list(expected):
        return
    unseen, missing = [n for n in names if n not in expected], [n for n in expected if n not in names]
    problems = []
    if unseen:
        problems.append(f"Feature names unseen at fit time: {_listed(unseen)}.")
    if missing:
        problems.append(f"Feature names seen at fit time, yet now missing: {_listed(missing)}.")
    problem = " ".join(problems) or "Feature names must be in the same order as they were in fit."
    msg = (
        f"The feature names should match those that were passed during fit. {problem} "
        "Select the features of the fit in their order, for example X[list(model.feature_names_in_)]"
    )
    raise ValueError(msg)


def _listed(names: Sequence[str]) -> str:
    """The first few names."""
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def check_width(estimator: Any, samples: Samples) -> None:
    """Reject data with another number of features than those of the fit."""
    width = samples.shape[1]
    if width != estimator.n_features_in_:
        msg = (
            f"X has {width} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features "
            "as input."
        )
        raise ValueError(msg)
