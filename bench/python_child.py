"""One measurement of the Python package, in a process of its own; prints JSON.

Usage: python_child.py fit MATRIX D | memory MATRIX | transform N FEATURES ROUNDS | import
"""

from __future__ import annotations

import json
import sys
import threading
import time


def fit(matrix: str, components: str) -> dict:
    """A fit of a memmap; opening it does not count, as it does not for the command line's own time."""
    import numpy as np
    from steradian import AngularEmbedding

    X = np.load(matrix, mmap_mode="r")
    estimator = AngularEmbedding.paper(int(components))
    start = time.perf_counter()
    estimator.fit(X)
    return {"seconds": time.perf_counter() - start}


def anonymous_mb() -> float:
    """Resident memory that is no file's."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024


def memory(matrix: str) -> dict:
    """The most anonymous memory during a fit, above what was there before."""
    import numpy as np
    from steradian import AngularEmbedding

    X = np.load(matrix, mmap_mode="r")
    before, peak, done = anonymous_mb(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, anonymous_mb())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    AngularEmbedding.paper(5).fit(X)
    done.set()
    watcher.join()
    return {"mb": peak - before}


def transform(samples: str, features: str, rounds: str) -> dict:
    """Scores by the package and by numpy, turn by turn."""
    import numpy as np
    from steradian import PCA

    X = np.random.default_rng(0).standard_normal((int(samples), int(features)), dtype=np.float32)
    X[:, :5] *= 5
    model = PCA(5).fit(X[:5000])
    mu, Q = model.mean_, model.components_
    mu_single, q_single = mu.astype(np.float32), Q.astype(np.float32)
    ways = {
        "ours": lambda: model.transform(X),
        "numpy_single": lambda: (X - mu_single) @ q_single.T,
        "numpy_double": lambda: (X - mu) @ Q.T,
    }
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(int(rounds)):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def import_() -> dict:
    """The time of the import alone."""
    import numpy  # noqa: F401
    import sklearn.base  # noqa: F401

    start = time.perf_counter()
    import steradian  # noqa: F401

    return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    work = {"fit": fit, "memory": memory, "transform": transform, "import": import_}[what]
    print(json.dumps(work(*arguments)))
