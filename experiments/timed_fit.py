"""One fit in a process of its own: prints seconds and peak memory as JSON.

Usage: python timed_fit.py METHOD MATRIX.npy COMPONENTS DEGREES
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np

from steradian import EMPCA, AngularEmbedding, GrassmannAverage, PrincipalComponentPursuit


def estimator(method: str, d: int, degrees: float) -> Any:
    """Who fits."""
    if method == "PCA":
        from sklearn.decomposition import PCA

        return PCA(d, svd_solver="randomized", random_state=0)
    return {
        "EM": lambda: EMPCA(d),
        "ALM": lambda: PrincipalComponentPursuit(d),
        "TGA": lambda: GrassmannAverage(d),
        "AE": lambda: AngularEmbedding.paper(d),
        "TAE": lambda: AngularEmbedding.paper(d, degrees),
        "robust": lambda: AngularEmbedding(d),
    }[method]()


def peak_mb() -> float:
    """The most resident memory this process has had."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Fits and prints."""
    method, path, d, degrees = sys.argv[1:]
    made = estimator(method, int(d), float(degrees))
    samples = np.load(path, mmap_mode="r")
    samples.max()  # into the page cache, so that disks are not compared
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in `converged`
        start = time.perf_counter()
        # scikit-learn wants floating point, and converting is part of its price.
        made.fit(np.asarray(samples, dtype=np.float32) if method == "PCA" else samples)
        seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "converged": bool(getattr(made, "converged_", True))}))


main()
