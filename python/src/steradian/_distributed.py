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
from steradian._worker_tasks import Part, PartError, PartInfo, PartSum, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from steradian._progress import EngineCallback

REFIT_HINT = "and fit again: the estimator is not fitted"


class DistributedData:
    """Rows on a cluster, in order."""

    feature_names: list[str] | None = None

    def __init__(
        self, infos: Mapping[int, PartInfo], *, names: Sequence[str] | None, reader: str, minimum: int
    ) -> None:
        """`infos` are those of the partitions by their index, in order; those without rows are skipped."""
        full = {number: info for number, info in infos.items() if info.rows > 0}
        _require_equal_features(full)
        self._ends = list(accumulate(info.rows for info in full.values()))
        self._n_samples = self._ends[-1] if self._ends else 0
        if self._n_samples < minimum:
            msg = f"Found data with {self._n_samples} sample(s) while a minimum of {minimum} is required by {reader}."
            raise ValueError(msg)
        firsts = zip(full.items(), [0, *self._ends], strict=False)
        self._partitions = [Part(number, first, info) for (number, info), first in firsts]
        self.feature_names = None if names is None else list(names)
        self._like = _empty_like(self._partitions[0].info, self.feature_names)
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
        self._remember(dict(total.checksums))
        if self._report is not None:
            size = self._n_samples * self.shape[1] * np.dtype(self.dtype).itemsize
            self._report(name, number, size, size)
        return total.result

    def _remember(self, checksums: Mapping[int, int]) -> None:
        """The checksums of the first pass, by the first row of the partition; tasks of later passes compare them."""
        self._partitions = [
            part._replace(info=part.info._replace(checksum=checksums[part.first])) for part in self._partitions
        ]

    def fetch(self, rows: list[int]) -> Samples:
        """Some rows, in this order, which is ascending. The engine calls this for a few rows."""
        firsts = [0, *self._ends]
        rows_by_part = defaultdict(list)
        for row, part in zip(rows, np.searchsorted(firsts, rows, side="right") - 1, strict=True):
            rows_by_part[int(part)].append(row - firsts[part])
        taken = []
        for found in self._take_rows(dict(rows_by_part)):
            if isinstance(found, Exception):
                raise found
            taken.append(found)
        return Samples.from_array(np.concatenate(taken))

    def _total(self, job: npt.NDArray[np.uint8], name: str, number: int) -> PartSum | PartError:
        """The total of a job over all rows, or the error of the earliest partition that has one."""
        raise NotImplementedError

    def _take_rows(self, rows_by_part: dict[int, list[int]]) -> list[npt.NDArray[Any] | PartError]:
        """Some rows of some partitions, by the index in `_partitions`; row indices are those within the partition."""
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


def infos_or_raise(found: Mapping[int, PartInfo | PartError]) -> dict[int, PartInfo]:
    """The infos of partitions by their index; raises the first error with the index of its partition."""
    infos: dict[int, PartInfo] = {}
    for number, info in found.items():
        if isinstance(info, Exception):
            raise named(info, f"partition {number}") from info
        infos[number] = info
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


def _require_equal_features(infos: Mapping[int, PartInfo]) -> None:
    if not infos:
        return
    first, expected = next(iter(infos.items()))
    for number, info in infos.items():
        if (info.features, info.dtype, info.image) != (expected.features, expected.dtype, expected.image):
            msg = (
                f"partition {number} has {_described(info)} where partition {first} has {_described(expected)}; "
                "use partitions with equal features and dtype"
            )
            raise ValueError(msg)


def _described(info: PartInfo) -> str:
    image = "" if info.image is None else f" in images of {info.image[0]} x {info.image[1]}"
    return f"{info.features} features of {info.dtype}{image}"


def _empty_like(info: PartInfo, names: list[str] | None) -> Samples:
    """Zero samples with the features, their names and the dtype of a partition."""
    return Samples.from_array(np.empty((0, *(info.image or (info.features,))), np.dtype(info.dtype)), names=names)
