"""Fits on data that live on a Dask cluster: passes go to the rows, sums come back.

There is nothing to call here: ``fit`` and ``transform`` of :class:`~steradian.AngularEmbedding` and
:class:`~steradian.PCA` take a dask array, or a list of ``dask.delayed`` parts (arrays, data frames, or paths that
workers can open). The driver runs the control flow. Each pass is one task per row chunk, named after what it does, and
tasks that merge their sums along a fixed binary tree; what reaches the driver is one sum. So the model depends on where
chunks begin and end, but not on the number of workers or threads, nor on workers that died on the way.

A fit runs on the active :class:`distributed.Client`; where there is none, on Dask's local scheduler.
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

from steradian import _engine, _parts
from steradian._data import Samples, SamplesLike, read
from steradian._elsewhere import (
    AGAIN,
    Elsewhere,
    looks_or_raise,
    require_own_version,
    require_width,
    without_package,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from steradian._subspace import Subspace

__all__ = ["Partitions"]

_AGAIN = f"start the cluster, or connect to it, {AGAIN}"
_PATIENCE = 30.0
"""Seconds without a result after which it is worth a look whether there are workers."""


class Partitions(Elsewhere):
    """Rows on a Dask cluster, in order."""

    def __init__(self, X: SamplesLike, *, reader: str, minimum: int = 1) -> None:
        self._client = _active_client()
        self._token = uuid.uuid4().hex[:12]
        _require_one_version(self._client)
        parts, looks = _of_array(X, self) if _is_array(X) else _of_list(X, self)
        full = [(part, look) for part, look in zip(parts, looks, strict=True) if look[0] > 0]
        super().__init__([look for _, look in full], reader=reader, minimum=minimum)
        self._parts = [part for part, _ in full]
        lazy = self._client is not None and _is_lazy(X)
        self._makers = _makers(self._parts) if lazy else None

    def _summed(self, job: npt.NDArray[np.uint8], name: str, number: int) -> _engine.Sum | _parts.Wrong:
        """By one task a part and one a merge."""
        label = f"steradian-{name.replace(' ', '-')}-{number}-{self._token}"
        parcel = delayed(_parts.Parcel, traverse=False)(job, _parts.version(), dask_key_name=f"{label}-job")
        summing = delayed(_parts.sum_part, traverse=False)
        merging = delayed(_parts.merge_sums, traverse=False)
        firsts = [0, *self._ends]
        sums = [
            summing(part, parcel, first, look, dask_key_name=f"{label}-part-{i}")
            for i, (part, first, look) in enumerate(zip(self._parts, firsts, self._looks, strict=False))
        ]

        def merge(left: Delayed, right: Delayed, level: int, place: int) -> Any:
            return merging(left, right, parcel, dask_key_name=f"{label}-merge-{level}-{place}")

        found: _engine.Sum | _parts.Wrong = self._computed(
            _parts.along_tree(sums, merge), f"pass {number} ({name})", label
        )
        return found

    def _places(self, label: str) -> defaultdict[Any, tuple[str, ...]]:
        """The worker that each task of a pass should run on, if it can: neighbours together, so that sums meet there.

        Where some parts are in a worker's memory already, there are no wishes: sums are made where the rows are.
        """
        places: defaultdict[Any, tuple[str, ...]] = defaultdict(tuple)
        threads = self._client.nthreads()
        workers = sorted(threads)
        shares = list(accumulate(threads[worker] for worker in workers))
        if self._makers is None or len(workers) < 2:
            return places
        for i, (makers, end, look) in enumerate(zip(self._makers, self._ends, self._looks, strict=True)):
            middle = (end - look[0] / 2) / self._samples * shares[-1]
            worker = workers[bisect_right(shares, middle)]
            # Rows are made where they are summed: they are what is worth not moving. Merges go with their first part.
            levels = range(len(self._ends).bit_length())
            merges = [f"{label}-merge-{level}-{i >> level + 1}" for level in levels if i % (2 << level) == 0]
            places.update(dict.fromkeys([*makers, f"{label}-part-{i}", *merges], (worker,)))
        return places

    def _taken(self, wanted: dict[int, list[int]]) -> list[npt.NDArray[Any]]:
        taking = delayed(_parts.take, traverse=False)
        token = uuid.uuid4().hex[:8]
        tasks = [
            taking(self._parts[owner], own, dask_key_name=f"steradian-rows-{self._token}-{token}-{owner}")
            for owner, own in wanted.items()
        ]
        together = delayed(list, traverse=False)(tasks, dask_key_name=f"steradian-rows-{uuid.uuid4().hex}")
        found: list[npt.NDArray[Any]] = self._computed(together, "reading single rows")
        return found

    def _computed(self, what: Delayed, doing: str, label: str | None = None) -> Any:
        """The value of `what`, a pass where it has a label; what goes wrong with the cluster is said in one line."""
        if self._client is None:
            return compute(what)[0]
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        if self._client.status != "running":
            msg = f"the Dask client is {self._client.status} before {doing}; {_AGAIN}"
            raise ConnectionError(msg)
        future = None
        try:
            # A method of a plain dictionary says where tasks go, since the scheduler need not have this package.
            places = self._places(label) if label else None
            wishes = {"workers": places.__getitem__, "allow_other_workers": True} if places else {}
            # A pass holds a few vectors as wide as the data; they travel once, in a task of their own.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}), annotate(**wishes):
                future = self._client.compute(what)
            return self._result(future, doing)
        except KeyboardInterrupt:
            if future is not None:
                future.cancel()
            raise
        except KilledWorker as error:
            msg = (
                f"workers died again and again during {doing}, at the task {error.task}; the usual reason is memory: "
                "use smaller row chunks, or workers with more memory"
            )
            raise RuntimeError(msg) from error
        except (NoValidWorkerError, NoWorkerError) as error:
            msg = f"the Dask cluster went away during {doing}: no workers were left; {_AGAIN}"
            raise ConnectionError(msg) from error
        except (CommClosedError, TimeoutError) as error:
            msg = f"the Dask cluster went away during {doing} ({error}); {_AGAIN}"
            raise ConnectionError(msg) from error
        except Exception as error:
            if (future is not None and future.cancelled()) or self._client.status != "running":
                msg = f"the Dask cluster went away during {doing} ({error}); {_AGAIN}"
                raise ConnectionError(msg) from error
            raise

    def _result(self, future: Any, doing: str) -> Any:
        """The result of a task. Dask waits for workers as long as it takes, so the user is told when there are none."""
        while True:
            try:
                return future.result(timeout=_PATIENCE)
            except TimeoutError:  # noqa: PERF203 (once in many seconds)
                if future.done() or self._client.status != "running":
                    raise
                if not self._client.nthreads():
                    msg = f"the Dask cluster has no workers during {doing}; the fit goes on when there is one"
                    warnings.warn(msg, stacklevel=2)


def transformed(estimator: Subspace, X: SamplesLike, robust_scores: bool | None) -> Any:
    """Scores of data on a cluster, as lazy as they are: an array for an array, a list for a list."""
    model = estimator._model
    if not _is_array(X):
        lazy_model = delayed(model, pure=False, traverse=False)
        scoring = delayed(_parts.transform_part, traverse=False)
        return [scoring(part, lazy_model, robust_scores) for part in X]
    _require_whole_rows(X)
    require_width(int(np.prod(X.shape[1:])), model)
    one = model.transform(Samples.from_array(np.zeros((1, *X.shape[1:]), X.dtype)))
    return X.map_blocks(
        _parts.transform_part,
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
    """Whether rows are made anew for every pass; otherwise some of them, or what they are made of, lie on workers."""
    from distributed import futures_of

    return not futures_of(X)


def _makers(parts: list[Delayed]) -> list[list[Any]]:
    """The keys of the tasks that make each part and no other, itself among them."""
    needs: dict[Any, set[Any]] = {}
    for graph in {id(part.__dask_graph__()): part.__dask_graph__() for part in parts}.values():
        needs.update(get_deps(dict(graph))[0])
    makes: dict[Any, int] = {}
    shared: set[Any] = set()
    for i, part in enumerate(parts):
        open_keys = [part.key]
        while open_keys:
            key = open_keys.pop()
            if key in shared or (key in makes and makes[key] == i):
                continue
            if makes.setdefault(key, i) != i:
                shared.add(key)
            open_keys += needs.get(key, ())
    makers: list[list[Any]] = [[] for _ in parts]
    for key, i in makes.items():
        if key not in shared:
            makers[i].append(key)
    return makers


def _active_client() -> Any:
    """The client that is active in this process; `None` where Dask's local scheduler is to be used."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _require_one_version(client: Any) -> None:
    """Refuse workers with another version of the package, or without it."""
    if client is None:
        return
    if client.status != "running":
        msg = f"the Dask client is {client.status}; {_AGAIN}"
        raise ConnectionError(msg)
    for worker, found in client.run(_parts.version, on_error="return").items():
        if isinstance(found, OSError):
            continue  # it died while it was asked; whoever comes in its place compares versions with each pass
        if isinstance(found, BaseException):
            raise without_package(worker, found)
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
        msg = f"the rows of X are cut into {across} chunks; keep rows whole by X.rechunk({{{axes}}}).persist()"
        raise ValueError(msg)


def _of_array(X: Any, partitions: Partitions) -> tuple[list[Delayed], list[_parts.Look]]:
    _require_whole_rows(X)
    if np.isnan(sum(X.shape[1:])):
        msg = f"the number of features of X is not known (shape {X.shape}); call X.compute_chunk_sizes() first"
        raise ValueError(msg)
    parts = list(X.to_delayed().ravel())
    probe = read(np.empty((1, *X.shape[1:]), X.dtype), reader="a dask array")
    if np.isnan(X.chunks[0]).any():
        return parts, _looked_at(parts, partitions)
    return parts, [(int(rows), probe.shape[1], probe.element, probe.image) for rows in X.chunks[0]]


def _of_list(X: Sequence[Delayed], partitions: Partitions) -> tuple[list[Delayed], list[_parts.Look]]:
    parts = list(X)
    return parts, _looked_at(parts, partitions)


def _looked_at(parts: list[Delayed], partitions: Partitions) -> list[_parts.Look]:
    """What parts of unknown size are: each is made once for this."""
    looking = delayed(_parts.look, traverse=False)
    tasks = [looking(part, dask_key_name=f"steradian-look-{uuid.uuid4().hex[:12]}-{i}") for i, part in enumerate(parts)]
    together = delayed(list, traverse=False)(tasks, dask_key_name=f"steradian-look-{uuid.uuid4().hex}")
    found: list[_parts.Look | _parts.Wrong] = partitions._computed(together, "looking at the partitions")
    return looks_or_raise(dict(enumerate(found)))
