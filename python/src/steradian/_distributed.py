"""Data on a cluster as the source of a fit, for any kind of cluster: shape, totals of passes, single rows.

The engine runs the control flow of a fit in this process. It requests the total of a job over all rows, and single rows
by their index. Subclasses run these requests on a cluster.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from steradian import _engine, _worker_tasks
from steradian._data import Samples, SamplesLike, cluster_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from steradian._progress import EngineCallback

REFIT_HINT = "and fit again: the estimator is not fitted"


class DistributedData:
    """Rows on a cluster, in order."""

    feature_names: list[str] | None = None

    def __init__(self, infos: Sequence[_worker_tasks.PartInfo], *, reader: str, minimum: int) -> None:
        """`infos` are those of the non-empty partitions, in order."""
        _require_equal_features(infos)
        self._infos = list(infos)
        self._ends = list(accumulate(info[0] for info in infos))
        self._n_samples = self._ends[-1] if self._ends else 0
        if self._n_samples < minimum:
            msg = f"Found data with {self._n_samples} sample(s) while a minimum of {minimum} is required by {reader}."
            raise ValueError(msg)
        self._like = _empty_like(self._infos[0])
        self._report: EngineCallback | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and number of features."""
        return self._n_samples, self._like.shape[1]

    @property
    def dtype(self) -> str:
        """The dtype that values are read as."""
        return self._like.dtype

    def fit(self, settings: dict[str, Any], threads: int, report: EngineCallback | None) -> _engine.Model:
        """The model of all rows; `threads` is the number of threads of the driver."""
        self._report = report
        return _engine.fit_distributed(self, self._like, self._n_samples, settings, threads=threads)

    def sum(self, job: npt.NDArray[np.uint8], name: str, number: int) -> _engine.PartialResult:
        """The total of a job over all rows. The engine calls this once per pass."""
        total = self._total(job, name, number)
        if isinstance(total, Exception):
            raise total
        if self._report is not None:
            size = self._n_samples * self.shape[1] * np.dtype(self.dtype).itemsize
            self._report(name, number, size, size)
        return total

    def fetch(self, rows: list[int]) -> Samples:
        """Some rows, in this order, which is ascending. The engine calls this for a few rows."""
        firsts = [0, *self._ends]
        rows_by_part = defaultdict(list)
        for row, part in zip(rows, np.searchsorted(firsts, rows, side="right") - 1, strict=True):
            rows_by_part[int(part)].append(row - firsts[part])
        return Samples.from_array(np.concatenate(self._take_rows(dict(rows_by_part))))

    def _total(
        self, job: npt.NDArray[np.uint8], name: str, number: int
    ) -> _engine.PartialResult | _worker_tasks.PartError:
        """The total of a job over all rows, or the error of the earliest partition that has one."""
        raise NotImplementedError

    def _take_rows(self, rows_by_part: dict[int, list[int]]) -> list[npt.NDArray[Any]]:
        """Some rows of some partitions, by the index of the partition; row indices are those within the partition."""
        raise NotImplementedError


def adapter(X: SamplesLike) -> Any:
    """The module for the cluster that holds `X`; `None` for data of this process."""
    cluster = cluster_kind(X)
    if cluster == "dask":
        from steradian import dask

        return dask
    if cluster == "spark":
        from steradian import spark

        return spark
    return None


def part_infos_or_raise(
    found: Mapping[int, _worker_tasks.PartInfo | _worker_tasks.PartError],
) -> list[_worker_tasks.PartInfo]:
    """The infos of partitions by their index; raises the first error with the index of its partition."""
    infos: list[_worker_tasks.PartInfo] = []
    for number, info in found.items():
        if isinstance(info, Exception):
            msg = f"partition {number}: {info}"
            raise type(info)(msg)
        infos.append(info)
    return infos


def require_own_version(worker: str, found: str) -> None:
    """Reject a worker with another version of the package."""
    own = _worker_tasks.version()
    if found != own:
        msg = f"worker {worker} has steradian {found} but this process has {own}; install one version everywhere"
        raise ValueError(msg)


def missing_package(worker: str, why: object) -> TypeError:
    """The error for a worker that cannot import the package."""
    own = _worker_tasks.version()
    return TypeError(f"worker {worker} cannot import the package steradian ({why}); install steradian {own} there")


def require_width(features: int, model: _engine.Model) -> None:
    """Reject data with another number of features than a model."""
    if features != model.n_features:
        msg = f"X has {features} features, but the model is expecting {model.n_features} features as input."
        raise ValueError(msg)


def _require_equal_features(infos: Sequence[_worker_tasks.PartInfo]) -> None:
    for i, info in enumerate(infos):
        if info[1:] != infos[0][1:]:
            (_, features, dtype, _), (_, expected, expected_dtype, _) = info, infos[0]
            msg = (
                f"partition {i} (empty ones not counted) has {features} features of {dtype} where the first has "
                f"{expected} of {expected_dtype}; use partitions with equal features and dtype"
            )
            raise ValueError(msg)


def _empty_like(info: _worker_tasks.PartInfo) -> Samples:
    """Zero samples with the features and the dtype of a partition."""
    _, features, dtype, image = info
    return Samples.from_array(np.empty((0, *(image or (features,))), np.dtype(dtype)))
