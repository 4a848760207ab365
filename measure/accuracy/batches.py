"""Results of consecutive items, grouped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Consecutive groups of `size` items."""
    items = iter(items)
    while batch := list(islice(items, size)):
        yield batch
