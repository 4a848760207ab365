"""Model files, whatever the method."""

from __future__ import annotations

import os

from steradian import _engine
from steradian._angular import AngularEmbedding
from steradian._pca import PCA


def load(path: str | os.PathLike[str]) -> AngularEmbedding | PCA:
    """Read a model file as the estimator that would have written it.

    Parameters
    ----------
    path : path-like
        A file written by `save`, or by the command line.
    """
    model = _engine.Model.load(os.fspath(path))
    kind = PCA if model.method == "pca" else AngularEmbedding
    return kind._of_model(model, path)
