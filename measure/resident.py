"""Resident memory of processes, from /proc (Linux only).

Anonymous memory (RssAnon and RssShmem) does not include the pages of mapped files.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

MB_PER_MIB = 1.048576


def status_kb(pid: int, *names: str) -> int:
    """The sum of some fields of a process's status in KiB; 0 after the process has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        return sum(int(fields[name].split()[0]) for name in names if name in fields)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def anonymous_kb(pid: int) -> int:
    """Current anonymous memory of a process in KiB; 0 after it has ended."""
    return status_kb(pid, "RssAnon", "RssShmem")


def peak_resident_mib() -> float:
    """Peak resident memory of this process in MiB.

    Not `ru_maxrss`: a process inherits that value from the process that started it.
    """
    return status_kb(os.getpid(), "VmHWM") / 1024


def watch(
    command: Sequence[str | Path], interval: float = 0.005, quiet: bool = False, check: bool = True
) -> tuple[float, bytes]:
    """Runs a program and gives its peak anonymous memory in MiB, polled every `interval` seconds, and its output.

    `quiet` hides its warnings. The output must fit into a pipe.
    """
    peak, errors = 0, subprocess.DEVNULL if quiet else None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_kb(process.pid))
            time.sleep(interval)
        printed = process.stdout.read() if process.stdout else b""
    if check and process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak / 1024, printed


class PeakAbove:
    """Peak anonymous memory of this process above its value on entry, in MiB; a context manager."""

    def __init__(self, interval: float = 0.002) -> None:
        self.mib = 0.0
        self._interval = interval
        self._before = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def _poll(self) -> None:
        while True:
            self.mib = max(self.mib, (anonymous_kb(os.getpid()) - self._before) / 1024)
            if self._stop.wait(self._interval):
                return

    def __enter__(self) -> PeakAbove:
        self._before = anonymous_kb(os.getpid())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
