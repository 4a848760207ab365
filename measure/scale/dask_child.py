"""Fits with the Python package for `dask_cluster`; prints one line of JSON.

Usage: python -m measure.scale.dask_child alone|cluster|killed FILE [ROUNDS]

alone: one process with 2 threads on the mapped file. cluster: two worker processes with one thread, the file in 16
chunks that workers map. killed: the cluster on fewer rows, with a worker killed during ROUNDS fits, each on a new
cluster.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from measure.arrays import Array
from measure.processes import say
from measure.resident import MB_PER_MIB, PeakAbove

CHUNKS = 16
KILLED_ROWS = 4000


def digest(model: Any) -> str:
    """The SHA-256 of the model file."""
    return hashlib.sha256(model._model.to_bytes()).hexdigest()


def mapped_rows(path: str, first: int, last: int) -> Array:
    """Rows of a mapped file."""
    rows: Array = np.load(path, mmap_mode="r")[first:last]
    return rows


def chunked(path: str, rows: int | None = None) -> Any:
    """The first rows of a file, or all, as a Dask array of 16 chunks."""
    import dask
    import dask.array as da

    whole = np.load(path, mmap_mode="r")
    samples = min(rows or whole.shape[0], whole.shape[0])
    cuts = [samples * i // CHUNKS for i in range(CHUNKS + 1)]
    load = dask.delayed(mapped_rows)
    chunks = [
        da.from_delayed(load(path, first, last), (last - first, whole.shape[1]), whole.dtype)
        for first, last in itertools.pairwise(cuts)
    ]
    return da.concatenate(chunks)


@contextlib.contextmanager
def two_workers() -> Iterator[Any]:
    """A client of a new cluster of two processes with one thread."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


def timed_fit(model: Any, data: Any) -> dict[str, Any]:
    """Seconds, passes and digest of a fit."""
    start = time.perf_counter()
    model.fit(data)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "passes": model.n_passes_, "model": digest(model)}


def alone(model: Any, path: str) -> dict[str, Any]:
    """A fit in this process with two threads."""
    return timed_fit(model.set_params(n_jobs=2), np.load(path, mmap_mode="r"))


def cluster(model: Any, path: str) -> dict[str, Any]:
    """A fit on two workers, with the memory of the driver."""
    with two_workers():
        data = chunked(path)
        with PeakAbove(interval=0.01) as peak:
            found = timed_fit(model, data)
    return {**found, "driver_mb": peak.mib * MB_PER_MIB}


def killed(model: Any, data: Any, rounds: int) -> dict[str, Any]:
    """Fits on new clusters with a worker killed at a random time, until `rounds` were killed during the fit."""
    with two_workers():
        calm = timed_fit(model, data)
    chance, same, middle, fits = random.Random(8), 0, 0, 0
    while middle < rounds and fits < 2 * rounds:
        fits += 1
        with two_workers() as client:
            victim = chance.choice(sorted(client.run(os.getpid).values()))
            killed_at: list[float] = []

            def kill(victim: int = victim, killed_at: list[float] = killed_at) -> None:
                os.kill(victim, signal.SIGKILL)
                killed_at.append(time.perf_counter())

            killer = threading.Timer(chance.uniform(0.05, 0.8) * calm["seconds"], kill)
            killer.start()
            equal = digest(model.fit(data)) == calm["model"]
            end = time.perf_counter()
            killer.join()
            during = killed_at[0] < end
            if during and victim in client.run(os.getpid).values():
                sys.exit(f"worker {victim} was killed and still exists")
        middle += during
        same += equal and during
        say(f"{fits} fits, {middle} with a worker killed during the fit, {same} byte-identical")
    return {"rounds": fits, "same": same, "middle": middle, "seconds": calm["seconds"]}


def main() -> None:
    """Runs the fit named on the command line."""
    kind, path = sys.argv[1:3]
    import steradian

    model = steradian.AngularEmbedding(5, method="ae", solver="krylov")
    if kind == "alone":
        found = alone(model, path)
    elif kind == "cluster":
        found = cluster(model, path)
    else:
        found = killed(model, chunked(path, KILLED_ROWS), int(sys.argv[3]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
