"""Throughput of the machine, measured with NumPy.

Usage: python -m measure.speed.limits THREADS

Prints "sgemm" and "ssyrk" in GFLOP/s and "u8_read" in GB/s as JSON. The number of threads of the matrix products comes
from the environment.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

SIDE = 2048
SYRK_SHAPE = (2048, 8192)
READ_BYTES = 256 << 20


def minimum(work: Callable[[], object], repeats: int = 5) -> float:
    """The minimum time of several runs, after one that is not measured."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measures with the number of threads on the command line."""
    threads = int(sys.argv[1])
    rng = np.random.default_rng(0)
    a, b = (rng.random((SIDE, SIDE), dtype=np.float32) for _ in range(2))
    out = np.empty_like(a)
    sgemm = 2 * SIDE**3 / minimum(lambda: np.matmul(a, b, out=out))
    u = rng.random(SYRK_SHAPE, dtype=np.float32)
    # n^2 D operations: only half of the matrix is computed.
    ssyrk = SYRK_SHAPE[0] ** 2 * SYRK_SHAPE[1] / minimum(lambda: u @ u.T)
    parts = np.array_split(np.ones(READ_BYTES, dtype=np.uint8).view(np.uint64), threads)
    with ThreadPoolExecutor(threads) as pool:
        read = READ_BYTES / minimum(lambda: list(pool.map(np.sum, parts)))
    print(json.dumps({"sgemm": sgemm / 1e9, "ssyrk": ssyrk / 1e9, "u8_read": read / 1e9}))


if __name__ == "__main__":
    main()
