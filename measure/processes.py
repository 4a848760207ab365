"""Child processes: their wall time, their output and the commands that start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from measure.paths import ROOT


def timed(command: Sequence[str], threads: int | None = None) -> tuple[float, str]:
    """Runs a program to its end and gives the wall time of the whole process and its standard output.

    `threads` is the number of threads of the libraries of NumPy, which read it from the environment. The program
    starts in the root of the repository, so that modules of this package are found there.
    """
    environment = os.environ | ({} if threads is None else thread_settings(threads))
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False, env=environment, cwd=ROOT)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        say(done.stderr.decode(errors="replace"))
        raise subprocess.CalledProcessError(done.returncode, command)
    return seconds, done.stdout.decode()


def thread_settings(threads: int) -> dict[str, str]:
    """Environment variables that OpenBLAS, MKL and OpenMP read."""
    return {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}


def module(name: str, *arguments: object) -> list[str]:
    """The command that runs a module of this package with this interpreter."""
    return [sys.executable, "-m", f"measure.{name}", *map(str, arguments)]


def child(name: str, *arguments: object, threads: int | None = None) -> dict[str, Any]:
    """The JSON object that a module of this package prints on its last line, run in a new process."""
    printed = timed(module(name, *arguments), threads)[1]
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


def say(text: str) -> None:
    """Prints progress on standard error."""
    print(text, file=sys.stderr, flush=True)
