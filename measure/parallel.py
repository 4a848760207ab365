"""Work in a few processes at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from measure.processes import thread_settings

T = TypeVar("T")
Out = TypeVar("Out")

JOBS = 2
"""Processes that run at the same time; each has one thread."""


def in_processes(work: Callable[[T], Out], items: Iterable[T], jobs: int = JOBS) -> Iterator[Out]:
    """The results of a function of a module on each item, in order; `jobs` = 1 works in this process."""
    if jobs == 1:
        yield from map(work, items)
        return
    # New processes read the environment when they load NumPy.
    os.environ.update(thread_settings(1))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, items)
