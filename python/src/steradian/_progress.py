"""Progress of passes: the argument of callbacks, and the output of `verbose=True`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias


class Progress(NamedTuple):
    """The progress of a pass over the data."""

    name: str
    """Name of the pass."""
    pass_number: int
    """1-based index of the pass in this call."""
    bytes_read: int
    """Bytes of samples that this pass has read."""
    bytes_total: int
    """Bytes that this pass will read; 0 for an iteration in memory, whose name contains step and residual."""


Callback: TypeAlias = Callable[[Progress], object]
EngineCallback: TypeAlias = Callable[[str, int, int, int], None]


def engine_callback(verbose: bool | int, callback: Callback | None) -> EngineCallback | None:
    """The callback for the engine: the user's, the report on standard error, both, or None."""
    listeners: list[Callback] = []
    if verbose:
        listeners.append(_bar() or _Lines())
    if callback is not None:
        if not callable(callback):
            msg = f"callback = {callback!r} is not callable; expected a function of one Progress, or None"
            raise TypeError(msg)
        listeners.append(callback)
    if not listeners:
        return None

    def report(name: str, pass_number: int, bytes_read: int, bytes_total: int) -> None:
        progress = Progress(name, pass_number, bytes_read, bytes_total)
        for listener in listeners:
            listener(progress)

    return report


def _bar() -> Callback | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return _Bar(tqdm)


class _Bar:
    """One progress bar per pass."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._pass = 0

    def __call__(self, progress: Progress) -> None:
        if not progress.bytes_total:
            self._tqdm.write(progress.name, file=sys.stderr)
            return
        if progress.pass_number != self._pass:
            self._pass = progress.pass_number
            self._bar = self._tqdm(
                total=progress.bytes_total,
                desc=f"pass {progress.pass_number} {progress.name}",
                unit="B",
                unit_scale=True,
                leave=False,
            )
        self._bar.update(progress.bytes_read - self._bar.n)
        if progress.bytes_read >= progress.bytes_total:
            self._bar.close()


class _Lines:
    """One line per finished pass."""

    def __call__(self, progress: Progress) -> None:
        if progress.bytes_read >= progress.bytes_total:
            size = f": {progress.bytes_total / 2**20:.1f} MiB" if progress.bytes_total else ""
            print(f"pass {progress.pass_number} {progress.name}{size}", file=sys.stderr)
