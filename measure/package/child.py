"""One measurement of the Python package in a new process; prints JSON.

Usage: python -m measure.package.child fit MATRIX D | memory MATRIX | transform N FEATURES RUNS | import
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def fit(matrix: str, components: str) -> dict[str, float]:
    """Seconds of a fit of a memory map; opening it is not included, as in the time that the program reports."""
    import numpy as np
    from steradian import AngularEmbedding

    data = np.load(matrix, mmap_mode="r")
    estimator = AngularEmbedding.paper(int(components))
    start = time.perf_counter()
    estimator.fit(data)
    return {"seconds": time.perf_counter() - start}


def memory(matrix: str) -> dict[str, float]:
    """Peak anonymous memory during a fit, above the value before it."""
    import numpy as np
    from steradian import AngularEmbedding

    from measure.resident import PeakAbove

    data = np.load(matrix, mmap_mode="r")
    with PeakAbove() as peak:
        AngularEmbedding.paper(5).fit(data)
    return {"mib": peak.mib}


def transform(samples: str, features: str, runs: str) -> dict[str, float]:
    """Minimum seconds of alternating computations of scores by the package and by NumPy."""
    import numpy as np
    from steradian import PCA

    data = np.random.default_rng(0).standard_normal((int(samples), int(features)), dtype=np.float32)
    data[:, :5] *= 5
    model: Any = PCA(5).fit(data[:5000])
    mu, q = model.mean_, model.components_
    mu_single, q_single = mu.astype(np.float32), q.astype(np.float32)
    ways: dict[str, Callable[[], object]] = {
        "steradian": lambda: model.transform(data),
        "single": lambda: (data - mu_single) @ q_single.T,
        "double": lambda: (data - mu) @ q.T,
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(int(runs)):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def import_() -> dict[str, float]:
    """Seconds of the import after that of numpy and sklearn.base."""
    import numpy  # noqa: F401
    import sklearn.base  # noqa: F401

    start = time.perf_counter()
    import steradian  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def main() -> None:
    """Runs the measurement named on the command line."""
    what, *arguments = sys.argv[1:]
    measurements: dict[str, Callable[..., dict[str, float]]] = {
        "fit": fit,
        "memory": memory,
        "transform": transform,
        "import": import_,
    }
    print(json.dumps(measurements[what](*arguments)))


if __name__ == "__main__":
    main()
