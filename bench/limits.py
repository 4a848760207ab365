"""What the machine can do, measured with numpy: python bench/limits.py THREADS

Prints "sgemm" and "ssyrk" in GF/s and "u8_read" in GB/s as json. The number of threads of numpy's products comes from
the environment; the harness sets it.
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


def least(work: Callable[[], object], repeats: int = 5) -> float:
    """The least time of several, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measures with the number of threads given."""
    threads = int(sys.argv[1])
    rng = np.random.default_rng(0)
    a, b = (rng.random((SIDE, SIDE), dtype=np.float32) for _ in range(2))
    out = np.empty_like(a)
    sgemm = 2 * SIDE**3 / least(lambda: np.matmul(a, b, out=out))
    u = rng.random(SYRK_SHAPE, dtype=np.float32)
    # n^2 D flops: only half of the matrix is computed.
    ssyrk = SYRK_SHAPE[0] ** 2 * SYRK_SHAPE[1] / least(lambda: u @ u.T)
    parts = np.array_split(np.ones(READ_BYTES, dtype=np.uint8).view(np.uint64), threads)
    with ThreadPoolExecutor(threads) as pool:
        read = READ_BYTES / least(lambda: list(pool.map(np.sum, parts)))
    print(json.dumps({"sgemm": sgemm / 1e9, "ssyrk": ssyrk / 1e9, "u8_read": read / 1e9}))


if __name__ == "__main__":
    main()
