"""How many threads `n_jobs` means."""

from __future__ import annotations

import os
from numbers import Integral


def threads(n_jobs: int | None) -> int:
    """Threads for the engine; 0 stands for one per core.

    ``None`` asks for as many as numpy's products would take: one per core, or ``OMP_NUM_THREADS``, by which joblib
    tells its workers to share the machine. Negative numbers count from the number of cores, as in joblib. The answer
    of a fit does not depend on any of this.
    """
    if n_jobs is None:
        told = os.environ.get("OMP_NUM_THREADS", "")
        return int(told) if told.isdecimal() else 0
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        msg = f"n_jobs = {n_jobs!r} is no number of threads; use a positive number, -1 for all cores, or None"
        raise ValueError(msg)
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, cores() + 1 + int(n_jobs))


def cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
