"""One fit of `make scale` with the Python package, in a process of its own; prints one line of JSON.

Usage: python scale/dask_fit.py alone|cluster|killed FILE [ROUNDS]

alone: threads of one process on the mapped file, 2 of them. cluster: two worker processes of one thread, the file in 16 chunks
that workers map. killed: the same on fewer rows, with a worker killed in the middle of ROUNDS fits, each on a new cluster.
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

CHUNKS = 16
KILLED_ROWS = 4000


class Peak:
    """The most anonymous memory of this process above what it had when asked first, in MB of 1e6 bytes."""

    def __init__(self) -> None:
        from resident import anonymous_kb

        self._now = lambda: anonymous_kb(os.getpid()) * 1.024e-3
        self._before = self._most = self._now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self._most = max(self._most, self._now())

    def end(self) -> float:
        self._stop.set()
        self._thread.join()
        return self._most - self._before


def digest(model: object) -> str:
    return hashlib.sha256(model._model.to_bytes()).hexdigest()


def part(path: str, first: int, last: int):
    import numpy as np

    return np.load(path, mmap_mode="r")[first:last]


def chunked(path: str, rows: int | None = None):
    import dask
    import dask.array as da
    import numpy as np

    whole = np.load(path, mmap_mode="r")
    samples = min(rows or whole.shape[0], whole.shape[0])
    cuts = [samples * i // CHUNKS for i in range(CHUNKS + 1)]
    load = dask.delayed(part)
    pieces = [
        da.from_delayed(load(path, first, last), (last - first, whole.shape[1]), whole.dtype)
        for first, last in itertools.pairwise(cuts)
    ]
    return da.concatenate(pieces)


def main() -> None:
    kind, path = sys.argv[1:3]
    import steradian

    model = steradian.AngularEmbedding(5, center="mean", screen=None, loss="squared_cosine", solver="krylov")
    if kind == "alone":
        import numpy as np

        model.set_params(n_jobs=2)
        data = np.load(path, mmap_mode="r")
        start = time.perf_counter()
        model.fit(data)
        print(json.dumps({"seconds": time.perf_counter() - start, "passes": model.n_passes_, "model": digest(model)}))
        return
    if kind == "killed":
        print(json.dumps(killed(model, chunked(path, KILLED_ROWS), int(sys.argv[3]))))
        return
    with two_workers():
        X = chunked(path)
        peak = Peak()
        start = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - start
        found = {"seconds": seconds, "passes": model.n_passes_, "model": digest(model), "driver_mb": peak.end()}
    print(json.dumps(found))


@contextlib.contextmanager
def two_workers():
    """A client of a new cluster of two processes of one thread."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


def killed(model: object, X: object, rounds: int) -> dict:
    """Fits again and again on new clusters, a worker killed at a random moment, until so many were killed in the middle."""
    with two_workers():
        start = time.perf_counter()
        calm = digest(model.fit(X))
        seconds = time.perf_counter() - start
    chance, same, middle, fits = random.Random(8), 0, 0, 0
    while middle < rounds and fits < 2 * rounds:
        fits += 1
        with two_workers() as client:
            victim = chance.choice(sorted(client.run(os.getpid).values()))
            killed_at = []

            def kill(victim: int = victim, killed_at: list = killed_at) -> None:
                os.kill(victim, signal.SIGKILL)
                killed_at.append(time.perf_counter())

            killer = threading.Timer(chance.uniform(0.05, 0.8) * seconds, kill)
            killer.start()
            equal = digest(model.fit(X)) == calm
            end = time.perf_counter()
            killer.join()
            in_the_middle = killed_at[0] < end
            if in_the_middle and victim in client.run(os.getpid).values():
                sys.exit(f"worker {victim} was killed and is still there")
        middle += in_the_middle
        same += equal and in_the_middle
        print(f"{fits} fits, {middle} with a worker killed in the middle, {same} the same bytes", file=sys.stderr)
    return {"rounds": fits, "same": same, "middle": middle, "seconds": seconds}


if __name__ == "__main__":
    main()
