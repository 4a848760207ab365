"""The Python package under test: fits in this process.

This is the only module that knows how classes, parameters and attributes of the package are spelled.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from measure.arrays import Array

METHODS = ("robust", "cells", "angular", "ae", "tae", "pca")
"""Methods that are compared."""
DEFAULT = "robust"


class FitError(Exception):
    """A fit that ended with an error."""


@contextmanager
def rejecting() -> Iterator[None]:
    """Turns errors of the package into `FitError`."""
    try:
        yield
    except (ValueError, RuntimeError, ArithmeticError) as error:
        raise FitError(str(error).split("\n", maxsplit=1)[0]) from error


@dataclass(frozen=True)
class Flags:
    """Samples beyond the cutoff of each distance."""

    score: Array
    orthogonal: Array

    @property
    def any(self) -> Array:
        """Samples with a flag other than regular."""
        return np.asarray(self.score | self.orthogonal)


class Fit:
    """A fitted estimator."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def components(self) -> Array:
        """The components, d x D."""
        return np.asarray(self.model.components_)

    @property
    def variances(self) -> Array:
        """The explained variances of the components."""
        return np.asarray(self.model.explained_variance_)

    @property
    def support(self) -> Array:
        """Whether a sample is in the support."""
        return np.asarray(self.model.support_)

    def flags(self, points: Array, *, own: bool) -> Flags:
        """The flags of samples: `own` if they are those of the fit, which have cutoffs of their own."""
        with rejecting():
            flag = self.model.diagnose(points, training=own).flag
        return Flags(np.isin(flag, ("good_leverage", "bad_leverage")), np.isin(flag, ("orthogonal", "bad_leverage")))

    def orthogonal_distances(self, points: Array) -> Array:
        """The orthogonal distances of the samples of the fit."""
        with rejecting():
            return np.asarray(self.model.diagnose(points, training=True).orthogonal_distance)

    def bad_cells(self, points: Array, *, own: bool) -> Array:
        """The mask of the flagged cells."""
        with rejecting():
            return np.asarray(self.model.diagnose(points, training=own).bad_cells())

    def reconstructed(self, points: Array) -> Array:
        """The expected values of all cells."""
        with rejecting():
            return np.asarray(self.model.inverse_transform(self.model.transform(points)))

    def filled(self, points: Array) -> Array:
        """The samples with expected values in missing cells."""
        with rejecting():
            return np.asarray(self.model.impute(points))


def fit(points: Array, method: str, components: int | str, *, seed: int = 0, **options: Any) -> Fit:
    """A fit with one thread."""
    from steradian import AngularEmbedding

    estimator = AngularEmbedding(components, method=method, random_state=seed, n_jobs=1, **options)
    with rejecting(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Fit(estimator.fit(points))


def installed() -> bool:
    """Whether the package can be imported."""
    return find_spec("steradian") is not None


def lacks(*, options: Sequence[str] = (), methods: Sequence[str] = ()) -> list[str]:
    """The names of those parameters and methods of the class that this build of the package lacks."""
    from steradian import AngularEmbedding

    parameters = inspect.signature(AngularEmbedding).parameters
    absent = [name for name in options if name not in parameters]
    return absent + [name for name in methods if not hasattr(AngularEmbedding, name)]
