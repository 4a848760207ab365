"""Fits of data on a Dask cluster: each worker reduces its chunks; the driver receives one partial result per pass.

Users do not call this module: ``fit`` and ``transform`` of :class:`~steradian.AngularEmbedding` and
:class:`~steradian.PCA` take a Dask array, a Dask data frame, a ``dask.delayed`` part (an array, a data frame, or a path
that workers can open), a future of such a part, or a list of these, whose rows follow each other. The driver runs the
control flow. Each pass is one task per row chunk, named after the pass, plus tasks that merge partial results along a
fixed binary tree. The model depends on the chunk boundaries, but not on the number of workers or threads, nor on
workers that were restarted during the fit.

Lazy rows are computed again for every pass. Each pass therefore compares a checksum of each partition, the labels of
its columns and its dtype with the first one.

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

from steradian import _worker_tasks
from steradian._data import SamplesLike, is_dask_part, parts_of, read
from steradian._distributed import (
    REFIT_HINT,
    DistributedData,
    infos_or_raise,
    missing_package,
    require_own_version,
    require_width,
)
from steradian._worker_tasks import PartError, PartInfo, PartSum, require_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian._subspace import Subspace

__all__ = ["Partitions"]

_RECONNECT_HINT = f"start the cluster, or connect to it, {REFIT_HINT}"
_PATIENCE = 30.0
"""Seconds without a result before the number of workers is checked."""


class Partitions(DistributedData):
    """Rows on a Dask cluster, in order."""

    def __init__(self, X: SamplesLike, *, reader: str, minimum: int = 1) -> None:
        items = parts_of(X)
        self._client = _client_of(items)
        self._token = uuid.uuid4().hex[:12]
        _require_one_version(self._client)
        parts: list[Delayed] = []
        declared: list[PartInfo] | None = []
        for i, item in enumerate(items):
            delayed_parts, infos = _parts_of_item(item, i if len(items) > 1 else None)
            parts += delayed_parts
            declared = None if infos is None or declared is None else declared + infos
        names = None
        if declared is None:
            declared, names = self._infos(parts)
        super().__init__(dict(enumerate(declared)), names=names, reader=reader, minimum=minimum)
        self._parts = [parts[part.number] for part in self._partitions]
        lazy = self._client is not None and _is_lazy(items)
        self._producers = _producers(self._parts) if lazy else None

    def _infos(self, parts: list[Delayed]) -> tuple[list[PartInfo], list[str] | None]:
        """The infos of partitions of unknown size, each of which is computed once for this, and the feature names."""
        info = delayed(_worker_tasks.part_info, traverse=False)
        token = uuid.uuid4().hex[:12]
        tasks = [info(part, dask_key_name=f"steradian-info-{token}-{i}") for i, part in enumerate(parts)]
        together = delayed(list, traverse=False)(tasks, dask_key_name=f"steradian-info-{uuid.uuid4().hex}")
        found = self._compute(together, "reading the partition sizes")
        answers = {i: answer if isinstance(answer, Exception) else answer[0] for i, answer in enumerate(found)}
        infos = infos_or_raise(answers)
        labels = {i: found[i][1] for i, info in infos.items() if info.rows > 0}
        return list(infos.values()), _common_names(labels)

    def _total(self, job: npt.NDArray[np.uint8], name: str, number: int) -> PartSum | PartError:
        """The total, by one task per partition and one per merge."""
        label = f"steradian-{name.replace(' ', '-')}-{number}-{self._token}"
        serialize = delayed(_worker_tasks.SerializedJob, traverse=False)
        serialized = serialize(job, _worker_tasks.version(), dask_key_name=f"{label}-job")
        sum_part = delayed(_worker_tasks.sum_part, traverse=False)
        merge_results = delayed(_worker_tasks.merge_results, traverse=False)
        results = [
            sum_part(part, serialized, expected, dask_key_name=f"{label}-part-{i}")
            for i, (part, expected) in enumerate(zip(self._parts, self._partitions, strict=True))
        ]

        def merge(left: Delayed, right: Delayed, level: int, index: int) -> Any:
            return merge_results(left, right, serialized, dask_key_name=f"{label}-merge-{level}-{index}")

        total: PartSum | PartError = self._compute(
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
        for i, (producers, part) in enumerate(zip(self._producers, self._partitions, strict=True)):
            middle = (part.first + part.info.rows / 2) / self._n_samples * cumulative[-1]
            worker = workers[bisect_right(cumulative, middle)]
            # Rows are larger than results: they are produced where they are reduced. A merge runs with its first part.
            levels = range(len(self._ends).bit_length())
            merges = [f"{label}-merge-{level}-{i >> level + 1}" for level in levels if i % (2 << level) == 0]
            placement.update(dict.fromkeys([*producers, f"{label}-part-{i}", *merges], (worker,)))
        return placement

    def _take_rows(self, rows_by_part: dict[int, list[int]]) -> list[npt.NDArray[Any] | PartError]:
        take = delayed(_worker_tasks.take, traverse=False)
        token = uuid.uuid4().hex[:8]
        tasks = [
            take(
                self._parts[part],
                rows,
                self._partitions[part],
                dask_key_name=f"steradian-rows-{self._token}-{token}-{part}",
            )
            for part, rows in rows_by_part.items()
        ]
        together = delayed(list, traverse=False)(tasks, dask_key_name=f"steradian-rows-{uuid.uuid4().hex}")
        taken: list[npt.NDArray[Any] | PartError] = self._compute(together, "reading single rows")
        return taken

    def _compute(self, what: Delayed, doing: str, label: str | None = None) -> Any:
        """The value of `what`; `label` is that of a pass. Failures of the cluster become errors of one line."""
        if self._client is None:
            try:
                return compute(what)[0]
            except Exception as error:
                raise _failed(error, doing) from error
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
            raise _failed(error, doing) from error

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
    """Lazy scores: a Dask array for an array or a data frame, a delayed part for one or a future, a list for a list."""
    names = getattr(estimator, "feature_names_in_", None)
    scores = _Scores(estimator, None if names is None else [str(name) for name in names], robust_scores)
    if isinstance(X, (list, tuple, np.ndarray)):
        return [scores.of(part, number) for number, part in enumerate(parts_of(X))]
    return scores.of(X, 0)


class _Scores:
    """Lazy scores of parts on a cluster, by one model."""

    def __init__(self, estimator: Subspace, names: list[str] | None, robust_scores: bool | None) -> None:
        self._estimator = estimator
        self._model = estimator._model
        self._names = names
        self._robust_scores = robust_scores
        self._lazy_model = delayed(self._model, pure=False, traverse=False)

    def of(self, part: SamplesLike, number: int) -> Any:
        if _is_array(part):
            return self._of_array(part)
        if _is_frame(part):
            return self._of_frame(part)
        return self._of_delayed(_as_delayed(part, number), number)

    def _of_array(self, X: Any) -> Any:
        _require_whole_rows(X)
        require_width(int(np.prod(X.shape[1:])), self._model)
        probe = np.zeros((1, *X.shape[1:]), X.dtype)
        if self._names is not None:
            name = type(self._estimator).__name__
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4
            )
        one = self._model.transform(read(probe, reader="a Dask array"))
        return X.map_blocks(
            _worker_tasks.transform_block,
            self._lazy_model,
            self._robust_scores,
            dtype=one.dtype,
            drop_axis=list(range(1, X.ndim)),
            new_axis=[1],
            chunks=(X.chunks[0], (one.shape[1],)),
            meta=one[:0],
            name=f"steradian-transform-{uuid.uuid4().hex}",
        )

    def _of_frame(self, X: Any) -> Any:
        import dask.array as da

        require_names(list(X.columns), self._names)
        none = self._model.transform(read(X._meta, reader="a Dask data frame", minimum=0))
        shape = (np.nan, none.shape[1])
        parts = [
            da.from_delayed(self._of_delayed(part, number), shape, dtype=none.dtype, meta=none)
            for number, part in enumerate(X.to_delayed())
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    def _of_delayed(self, part: Delayed, number: int) -> Delayed:
        transform = delayed(_worker_tasks.transform_part, traverse=False)
        lazy: Delayed = transform(part, self._lazy_model, self._robust_scores, self._names, number)
        return lazy


def _is_array(X: SamplesLike) -> bool:
    arrays = sys.modules.get("dask.array")
    return arrays is not None and isinstance(X, arrays.Array)


def _is_frame(X: SamplesLike) -> bool:
    frames = sys.modules.get("dask.dataframe")
    return frames is not None and isinstance(X, frames.DataFrame)


def _is_future(X: SamplesLike) -> bool:
    distributed = sys.modules.get("distributed.client")
    return distributed is not None and isinstance(X, distributed.Future)


def _as_delayed(part: SamplesLike, number: int | None) -> Delayed:
    """A delayed part or a future as a delayed part; `number` is its index in a list."""
    if isinstance(part, Delayed):
        return part
    if _is_future(part):
        if part.cancelled():
            msg = f"the future {part.key} was cancelled; submit it again"
            raise ValueError(msg)
        return Delayed(part.key, {part.key: part})
    found = f"{type(part).__module__.split('.')[0]}.{type(part).__name__}"
    where = "X" if number is None else f"part {number} of X"
    remedy = "pass X.data or X.to_dask_array()" if is_dask_part(part) else "wrap it: dask.delayed(part)"
    msg = f"{where} is {found}; expected a Dask array, a Dask data frame, a delayed part or a future; {remedy}"
    raise TypeError(msg)


def _parts_of_item(item: SamplesLike, number: int | None) -> tuple[list[Delayed], list[PartInfo] | None]:
    """The parts of a Dask collection or future, and their infos if they are known without computing them."""
    if _is_array(item):
        return _of_array(item)
    if _is_frame(item):
        return list(item.to_delayed()), None
    return [_as_delayed(item, number)], None


def _common_names(labels: dict[int, list[Any] | None]) -> list[str] | None:
    """The names that all partitions have; rejects partitions with other labels, or with labels in another order."""
    if not labels:
        return None
    first, expected = next(iter(labels.items()))
    for number, found in labels.items():
        if found == expected:
            continue
        if found is None or expected is None:
            none, some = (number, first) if found is None else (first, number)
            msg = (
                f"partition {none} has no column names but partition {some} has; use data frames with equal columns, "
                "or arrays (frame.to_numpy()), for all partitions"
            )
            raise ValueError(msg)
        if sorted(map(str, found)) == sorted(map(str, expected)):
            problem = "in another order"
        else:
            other = next(label for label in [*found, *expected] if label not in found or label not in expected)
            problem = f"without {other!r}" if other in expected else f"with {other!r}, which that does not have"
        msg = (
            f"partition {number} has the columns of partition {first} {problem}; select the same columns in the same "
            "order for all partitions: frame[columns]"
        )
        raise ValueError(msg)
    strings = expected is not None and all(isinstance(label, str) for label in expected)
    return expected if strings else None


def _failed(error: Exception, doing: str) -> Exception:
    """The error of the tasks that produce the data, with the step of the fit."""
    if isinstance(error, (MemoryError, ConnectionError)):
        return error
    return RuntimeError(
        f"the tasks that produce the data failed during {doing}: {type(error).__name__}: {error}; compute them alone "
        "to find the cause"
    )


def _is_lazy(items: list[SamplesLike]) -> bool:
    """True if rows are recomputed in every pass; False if some of them, or their inputs, are persisted on workers."""
    from distributed import futures_of

    return not futures_of(items)


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


def _client_of(items: list[SamplesLike]) -> Any:
    """The client of futures, else the active client of this process; `None` for Dask's local scheduler."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    clients = {id(item.client): item.client for item in items if _is_future(item)}
    if len(clients) > 1:
        msg = f"the futures belong to {len(clients)} clients; submit them to one client"
        raise ValueError(msg)
    try:
        client = next(iter(clients.values())) if clients else distributed.default_client()
    except ValueError:
        return None
    if client.asynchronous:
        msg = "an asynchronous Dask client is not supported; use Client(asynchronous=False)"
        raise TypeError(msg)
    return client


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


def _of_array(X: Any) -> tuple[list[Delayed], list[PartInfo] | None]:
    _require_whole_rows(X)
    if np.isnan(sum(X.shape[1:])):
        msg = f"the number of features of X is unknown (shape {X.shape}); call X.compute_chunk_sizes() first"
        raise ValueError(msg)
    parts = list(X.to_delayed().ravel())
    probe = read(np.empty((1, *X.shape[1:]), X.dtype), reader="a Dask array")
    if np.isnan(X.chunks[0]).any():
        return parts, None
    return parts, [PartInfo(int(rows), probe.shape[1], probe.dtype, probe.image) for rows in X.chunks[0]]
