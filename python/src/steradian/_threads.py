"""The number of threads for `n_jobs`."""

from __future__ import annotations

import os
from numbers import Integral

_MOST = 1024
"""The most threads of a call: more do not help, and the system may not start them."""


def threads(n_jobs: int | None) -> int:
    """Number of threads of the engine; 0 means one per core.

    ``None`` means as many as numpy's matrix products use: one per core, or ``OMP_NUM_THREADS``, which joblib sets in
    its workers to share the machine. Negative values count from the number of cores, as in joblib. The result of a fit
    does not depend on the number of threads.
    """
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(int(limit), _MOST) if limit.isdecimal() else 0
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        msg = f"n_jobs = {n_jobs!r} is not supported; expected an integer >= 1, -1 for all cores, or None"
        raise ValueError(msg)
    if n_jobs > 0:
        return min(int(n_jobs), _MOST)
    return max(1, cores() + 1 + int(n_jobs))


def cores() -> int:
    """Number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
