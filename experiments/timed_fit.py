"""One fit in a new process; prints seconds and peak memory as JSON.

Usage: python -m experiments.timed_fit METHOD MATRIX.npy COMPONENTS DEGREES
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from steradian import EMPCA, AngularEmbedding, GrassmannAverage, PrincipalComponentPursuit

from measure.resident import peak_resident_mib


def estimator(method: str, d: int, degrees: float) -> Any:
    """The estimator of a method."""
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
    print(
        json.dumps(
            {"seconds": seconds, "peak_mb": peak_resident_mib(), "converged": bool(getattr(made, "converged_", True))}
        )
    )


if __name__ == "__main__":
    main()
