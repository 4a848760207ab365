"""Loading of model files of any method."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from steradian import _engine
from steradian._angular import AngularEmbedding
from steradian._empca import EMPCA
from steradian._grassmann import GrassmannAverage
from steradian._pca import PCA
from steradian._pursuit import PrincipalComponentPursuit

if TYPE_CHECKING:
    from steradian._subspace import Subspace

_CLASSES: dict[str, type[Subspace]] = {
    "pca": PCA,
    "empca": EMPCA,
    "emae": EMPCA,
    "ga": GrassmannAverage,
    "tga": GrassmannAverage,
    "pcp": PrincipalComponentPursuit,
}
"""Classes of the methods; all other methods are presets of :class:`AngularEmbedding`."""


def load(path: str | os.PathLike[str]) -> Subspace:
    """Read a model file as an estimator of the class of its method.

    Parameters
    ----------
    path : path-like
        A file written by `save`, or by the command line.
    """
    model = _engine.Model.load(os.fspath(path))
    return _CLASSES.get(model.method, AngularEmbedding)._of_model(model, path)
