"""Rows that lie on a cluster, as a fit sees them, whatever cluster it is: their shape, their sums, a few of them.

The engine runs the control flow of a fit in this process and asks two things of the rows: the sum of all of them under
a pass, and single rows by their number. Children know a cluster and how to have these done there.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from steradian import _engine, _parts
from steradian._data import Samples, SamplesLike, home

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from steradian._progress import EngineCallback

AGAIN = "and fit again: the estimator is unfitted"


class Elsewhere:
    """Rows on a cluster, in order."""

    feature_names: list[str] | None = None

    def __init__(self, looks: Sequence[_parts.Look], *, reader: str, minimum: int) -> None:
        """`looks` are those of the parts in order, without empty ones."""
        _require_alike(looks)
        self._looks = list(looks)
        self._ends = list(accumulate(look[0] for look in looks))
        self._samples = self._ends[-1] if self._ends else 0
        if self._samples < minimum:
            msg = f"Found data with {self._samples} sample(s) while a minimum of {minimum} is required by {reader}."
            raise ValueError(msg)
        self._like = _like(self._looks[0])
        self._report: EngineCallback | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self._samples, self._like.shape[1]

    @property
    def element(self) -> str:
        """The type that numbers are read as."""
        return self._like.element

    def fit(self, settings: dict[str, Any], threads: int, report: EngineCallback | None) -> _engine.Model:
        """A model of all rows; `threads` are for the driver's own part."""
        self._report = report
        return _engine.fit_elsewhere(self, self._like, self._samples, settings, threads=threads)

    def sum(self, job: npt.NDArray[np.uint8], name: str, number: int) -> _engine.Sum:
        """The sum of all rows. The engine calls this once a pass."""
        found = self._summed(job, name, number)
        if isinstance(found, Exception):
            raise found
        if self._report is not None:
            total = self._samples * self.shape[1] * np.dtype(self.element).itemsize
            self._report(name, number, total, total)
        return found

    def fetch(self, rows: list[int]) -> Samples:
        """Some rows, in this order, which is ascending. The engine calls this for the few that it looks at."""
        firsts = [0, *self._ends]
        wanted = defaultdict(list)
        for row, owner in zip(rows, np.searchsorted(firsts, rows, side="right") - 1, strict=True):
            wanted[int(owner)].append(row - firsts[owner])
        return Samples.from_array(np.concatenate(self._taken(dict(wanted))))

    def _summed(self, job: npt.NDArray[np.uint8], name: str, number: int) -> _engine.Sum | _parts.Wrong:
        """The sum of all rows, or what is wrong with the earliest part that is wrong."""
        raise NotImplementedError

    def _taken(self, wanted: dict[int, list[int]]) -> list[npt.NDArray[Any]]:
        """Some rows of some parts: for each part, in order, the numbers of its own rows."""
        raise NotImplementedError


def adapter(X: SamplesLike) -> Any:
    """The module that knows the cluster where `X` lies; `None` for data of this process."""
    cluster = home(X)
    if cluster == "dask":
        from steradian import dask

        return dask
    if cluster == "spark":
        from steradian import spark

        return spark
    return None


def looks_or_raise(found: Mapping[int, _parts.Look | _parts.Wrong]) -> list[_parts.Look]:
    """What parts are, by their numbers; what is wrong with the first that is wrong is raised with its number."""
    looks: list[_parts.Look] = []
    for number, look in found.items():
        if isinstance(look, Exception):
            msg = f"partition {number}: {look}"
            raise type(look)(msg)
        looks.append(look)
    return looks


def require_own_version(worker: str, found: str) -> None:
    """Refuse a worker with another version of the package."""
    own = _parts.version()
    if found != own:
        msg = f"worker {worker} has steradian {found} but this process has {own}; install one version everywhere"
        raise ValueError(msg)


def without_package(worker: str, why: object) -> TypeError:
    """What to say of a worker that cannot import the package."""
    own = _parts.version()
    return TypeError(f"worker {worker} cannot use the package steradian ({why}); install steradian {own} there")


def require_width(features: int, model: _engine.Model) -> None:
    """Refuse data of another width than a model's."""
    if features != model.n_features:
        msg = f"X has {features} features, but the model is expecting {model.n_features} features as input."
        raise ValueError(msg)


def _require_alike(looks: Sequence[_parts.Look]) -> None:
    for i, look in enumerate(looks):
        if look[1:] != looks[0][1:]:
            (_, features, element, _), (_, wanted, wanted_element, _) = look, looks[0]
            msg = (
                f"partition {i} (empty ones not counted) has {features} features of {element} where the first has "
                f"{wanted} of {wanted_element}; give partitions of one width and type"
            )
            raise ValueError(msg)


def _like(look: _parts.Look) -> Samples:
    """No samples, of the features and the type of a part."""
    _, features, element, image = look
    return Samples.from_array(np.empty((0, *(image or (features,))), np.dtype(element)))
