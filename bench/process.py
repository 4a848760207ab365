"""Fresh processes and their clocks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def timed(command: list[str], threads: int | None = None) -> tuple[float, str]:
    """Runs a program to its end; the wall time of the whole process and what it printed.

    `threads` is for numpy's libraries, which read it from the environment.
    """
    environment = os.environ | ({} if threads is None else thread_settings(threads))
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        print(done.stderr.decode(errors="replace"), file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, command)
    return seconds, done.stdout.decode()


def thread_settings(threads: int) -> dict[str, str]:
    """What OpenBLAS, MKL and OpenMP look at."""
    return {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}


def python(script: str, *arguments: object) -> list[str]:
    """The command that runs a script of this folder with this interpreter."""
    return [sys.executable, str(Path(__file__).parent / script), *map(str, arguments)]


def peak_resident_mb() -> float:
    """The most resident memory this process has had.

    Not `ru_maxrss`: a process inherits that from the one that started it.
    """
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def warm(path: Path) -> None:
    """Brings a file into the page cache."""
    with path.open("rb", buffering=0) as file:
        chunk = bytearray(1 << 22)
        while file.readinto(chunk):
            pass
