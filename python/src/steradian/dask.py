"""Fits of data on a Dask cluster: each worker reduces its chunks; the driver receives one partial result per pass.

Users do not call this module: ``fit`` and ``transform`` of :class:`~steradian.AngularEmbedding` and
:class:`~steradian.PCA` take a Dask array, or a list of ``dask.delayed`` parts (arrays, data frames, or paths that
workers can open). The driver runs the control flow. Each pass is one task per row chunk, named after the pass, plus
tasks that merge partial results along a fixed binary tree. The model depends on the chunk boundaries, but not on the
number of workers or threads, nor on workers that were restarted during the fit.

A fit runs on the active :class:`distributed.Client`, or without one on Dask's local scheduler.
"""

from __future__ import annotations

import sys
import uuid
import warnings
from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
from dask.base import annotate, compute
from dask.core import get_deps
from dask.delayed import Delayed, delayed

from steradian import _engine, _worker_tasks
from steradian._data import Samples, SamplesLike, read
from steradian._distributed import (
    REFIT_HINT,
    DistributedData,
    missing_package,
    part_infos_or_raise,
    require_own_version,
    require_width,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from steradian._subspace import Subspace

__all__ = ["Partitions"]

_RECONNECT_HINT = f"start the cluster, or connect to it, {REFIT_HINT}"
_PATIENCE = 30.0
"""Seconds without a result before the number of workers is checked."""


class Partitions(DistributedData):
    """Rows on a Dask cluster, in order."""

    def __init__(self, X: SamplesLike, *, reader: str, minimum: int = 1) -> None:
        self._client = _active_client()
        self._token = uuid.uuid4().hex[:12]
        _require_one_version(self._client)
        parts, infos = _of_array(X, self) if _is_array(X) else _of_list(X, self)
        full = [(part, info) for part, info in zip(parts, infos, strict=True) if info[0] > 0]
        super().__init__([info for _, info in full], reader=reader, minimum=minimum)
        self._parts = [part for part, _ in full]
        lazy = self._client is not None and _is_lazy(X)
        self._producers = _producers(self._parts) if lazy else None

    def _total(
        self, job: npt.NDArray[np.uint8], name: str, number: int
    ) -> _engine.PartialResult | _worker_tasks.PartError:
        """The total, by one task per partition and one per merge."""
        label = f"steradian-{name.replace(' ', '-')}-{number}-{self._token}"
        serialize = delayed(_worker_tasks.SerializedJob, traverse=False)
        serialized = serialize(job, _worker_tasks.version(), dask_key_name=f"{label}-job")
        sum_part = delayed(_worker_tasks.sum_part, traverse=False)
        merge_results = delayed(_worker_tasks.merge_results, traverse=False)
        firsts = [0, *self._ends]
        results = [
            sum_part(part, serialized, first, info, dask_key_name=f"{label}-part-{i}")
            for i, (part, first, info) in enumerate(zip(self._parts, firsts, self._infos, strict=False))
        ]

        def merge(left: Delayed, right: Delayed, level: int, index: int) -> Any:
            return merge_results(left, right, serialized, dask_key_name=f"{label}-merge-{level}-{index}")

        total: _engine.PartialResult | _worker_tasks.PartError = self._compute(
            _worker_tasks.tree_reduce(results, merge), f"pass {number} ({name})", label
        )
        return total

    def _placement(self, label: str) -> defaultdict[Any, tuple[str, ...]]:
        """Placement hints: the preferred worker of each task of a pass. Adjacent partitions share a worker.

        There are no hints if some partitions are in the memory of workers: Dask then runs tasks where the rows are.
        """
        placement: defaultdict[Any, tuple[str, ...]] = defaultdict(tuple)
        threads = self._client.nthreads()
        workers = sorted(threads)
        cumulative = list(accumulate(threads[worker] for worker in workers))
        if self._producers is None or len(workers) < 2:
            return placement
        for i, (producers, end, info) in enumerate(zip(self._producers, self._ends, self._infos, strict=True)):
            middle = (end - info[0] / 2) / self._n_samples * cumulative[-1]
            worker = workers[bisect_right(cumulative, middle)]
            # Rows are larger than results: they are produced where they are reduced. A merge runs with its first part.
            levels = range(len(self._ends).bit_length())
            merges = [f"{label}-merge-{level}-{i >> level + 1}" for level in levels if i % (2 << level) == 0]
            placement.update(dict.fromkeys([*producers, f"{label}-part-{i}", *merges], (worker,)))
        return placement

    def _take_rows(self, rows_by_part: dict[int, list[int]]) -> list[npt.NDArray[Any]]:
        take = delayed(_worker_tasks.take, traverse=False)
        token = uuid.uuid4().hex[:8]
        tasks = [
            take(self._parts[part], rows, dask_key_name=f"steradian-rows-{self._token}-{token}-{part}")
            for part, rows in rows_by_part.items()
        ]
        together = delayed(list, traverse=False)(tasks, dask_key_name=f"steradian-rows-{uuid.uuid4().hex}")
        taken: list[npt.NDArray[Any]] = self._compute(together, "reading single rows")
        return taken

    def _compute(self, what: Delayed, doing: str, label: str | None = None) -> Any:
        """The value of `what`; `label` is that of a pass. Failures of the cluster become errors of one line."""
        if self._client is None:
            return compute(what)[0]
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        if self._client.status != "running":
            msg = f"the Dask client is {self._client.status} before {doing}; {_RECONNECT_HINT}"
            raise ConnectionError(msg)
        future = None
        try:
            # The hints are a method of a plain dictionary, since the scheduler may not have this package.
            placement = self._placement(label) if label else None
            hints = {"workers": placement.__getitem__, "allow_other_workers": True} if placement else {}
            # A job contains a few vectors as wide as the data; they are sent once, in a separate task.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}), annotate(**hints):
                future = self._client.compute(what)
            return self._result(future, doing)
        except KeyboardInterrupt:
            if future is not None:
                future.cancel()
            raise
        except KilledWorker as error:
            msg = (
                f"workers were killed repeatedly during {doing} (task {error.task}), most likely out of memory; "
                "use smaller row chunks or workers with more memory"
            )
            raise RuntimeError(msg) from error
        except (NoValidWorkerError, NoWorkerError) as error:
            msg = f"lost the Dask cluster during {doing}: no workers are left; {_RECONNECT_HINT}"
            raise ConnectionError(msg) from error
        except (CommClosedError, TimeoutError) as error:
            msg = f"lost the Dask cluster during {doing} ({error}); {_RECONNECT_HINT}"
            raise ConnectionError(msg) from error
        except Exception as error:
            if (future is not None and future.cancelled()) or self._client.status != "running":
                msg = f"lost the Dask cluster during {doing} ({error}); {_RECONNECT_HINT}"
                raise ConnectionError(msg) from error
            raise

    def _result(self, future: Any, doing: str) -> Any:
        """The result of a task. Dask waits for workers without a limit, so a warning reports that there are none."""
        while True:
            try:
                return future.result(timeout=_PATIENCE)
            except TimeoutError:  # noqa: PERF203 (once in many seconds)
                if future.done() or self._client.status != "running":
                    raise
                if not self._client.nthreads():
                    msg = f"the Dask cluster has no workers during {doing}; the fit resumes when there is one"
                    warnings.warn(msg, stacklevel=2)


def transformed(estimator: Subspace, X: SamplesLike, robust_scores: bool | None) -> Any:
    """Lazy scores of data on a cluster: a Dask array for an array, a list for a list."""
    model = estimator._model
    if not _is_array(X):
        lazy_model = delayed(model, pure=False, traverse=False)
        transform = delayed(_worker_tasks.transform_part, traverse=False)
        return [transform(part, lazy_model, robust_scores) for part in X]
    _require_whole_rows(X)
    require_width(int(np.prod(X.shape[1:])), model)
    one = model.transform(Samples.from_array(np.zeros((1, *X.shape[1:]), X.dtype)))
    return X.map_blocks(
        _worker_tasks.transform_part,
        delayed(model, pure=False, traverse=False),
        robust_scores,
        dtype=one.dtype,
        drop_axis=list(range(1, X.ndim)),
        new_axis=[1],
        chunks=(X.chunks[0], (one.shape[1],)),
        meta=one[:0],
        name=f"steradian-transform-{uuid.uuid4().hex}",
    )


def _is_array(X: SamplesLike) -> bool:
    arrays = sys.modules.get("dask.array")
    return arrays is not None and isinstance(X, arrays.Array)


def _is_lazy(X: SamplesLike) -> bool:
    """True if rows are recomputed in every pass; False if some of them, or their inputs, are persisted on workers."""
    from distributed import futures_of

    return not futures_of(X)


def _producers(parts: list[Delayed]) -> list[list[Any]]:
    """The keys of the tasks that produce each partition and no other, including its own key."""
    needs: dict[Any, set[Any]] = {}
    for graph in {id(part.__dask_graph__()): part.__dask_graph__() for part in parts}.values():
        needs.update(get_deps(dict(graph))[0])
    part_of: dict[Any, int] = {}
    shared: set[Any] = set()
    for i, part in enumerate(parts):
        open_keys = [part.key]
        while open_keys:
            key = open_keys.pop()
            if key in shared or (key in part_of and part_of[key] == i):
                continue
            if part_of.setdefault(key, i) != i:
                shared.add(key)
            open_keys += needs.get(key, ())
    producers: list[list[Any]] = [[] for _ in parts]
    for key, i in part_of.items():
        if key not in shared:
            producers[i].append(key)
    return producers


def _active_client() -> Any:
    """The active client of this process; `None` for Dask's local scheduler."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _require_one_version(client: Any) -> None:
    """Reject workers with another version of the package, or without it."""
    if client is None:
        return
    if client.status != "running":
        msg = f"the Dask client is {client.status}; {_RECONNECT_HINT}"
        raise ConnectionError(msg)
    for worker, found in client.run(_worker_tasks.version, on_error="return").items():
        if isinstance(found, OSError):
            continue  # the worker died during the request; its successor checks the version of each job
        if isinstance(found, BaseException):
            raise missing_package(worker, found)
        require_own_version(worker, found)


def _require_whole_rows(X: Any) -> None:
    if X.ndim not in (2, 3):
        msg = (
            f"Expected 2D array, got {X.ndim}D array instead (shape {X.shape}); images may be (samples, height, width)."
        )
        raise ValueError(msg)
    if any(blocks != 1 for blocks in X.numblocks[1:]):
        across = " x ".join(str(blocks) for blocks in X.numblocks[1:])
        axes = ", ".join(f"{axis}: -1" for axis in range(1, X.ndim))
        msg = f"the rows of X are split into {across} chunks; do not split rows: X.rechunk({{{axes}}}).persist()"
        raise ValueError(msg)


def _of_array(X: Any, partitions: Partitions) -> tuple[list[Delayed], list[_worker_tasks.PartInfo]]:
    _require_whole_rows(X)
    if np.isnan(sum(X.shape[1:])):
        msg = f"the number of features of X is unknown (shape {X.shape}); call X.compute_chunk_sizes() first"
        raise ValueError(msg)
    parts = list(X.to_delayed().ravel())
    probe = read(np.empty((1, *X.shape[1:]), X.dtype), reader="a Dask array")
    if np.isnan(X.chunks[0]).any():
        return parts, _part_infos(parts, partitions)
    return parts, [(int(rows), probe.shape[1], probe.dtype, probe.image) for rows in X.chunks[0]]


def _of_list(X: Sequence[Delayed], partitions: Partitions) -> tuple[list[Delayed], list[_worker_tasks.PartInfo]]:
    parts = list(X)
    return parts, _part_infos(parts, partitions)


def _part_infos(parts: list[Delayed], partitions: Partitions) -> list[_worker_tasks.PartInfo]:
    """The infos of partitions of unknown size, each of which is computed once for this."""
    info = delayed(_worker_tasks.part_info, traverse=False)
    token = uuid.uuid4().hex[:12]
    tasks = [info(part, dask_key_name=f"steradian-info-{token}-{i}") for i, part in enumerate(parts)]
    together = delayed(list, traverse=False)(tasks, dask_key_name=f"steradian-info-{uuid.uuid4().hex}")
    found: list[_worker_tasks.PartInfo | _worker_tasks.PartError]
    found = partitions._compute(together, "reading the partition sizes")
    return part_infos_or_raise(dict(enumerate(found)))
