"""The memory of a running program above the pages of the files it maps. Linux only, no packages."""

from __future__ import annotations

import subprocess
import time


def anonymous_kb(pid: int) -> int:
    """Resident memory that belongs to no file, now; 0 when the program has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        return sum(int(fields[key].split()[0]) for key in ("RssAnon", "RssShmem") if key in fields)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def watch(command: list[str], interval: float = 0.005, quiet: bool = False) -> tuple[float, bytes]:
    """Runs a program that prints little; its peak in MB, looked up every few milliseconds, and what it printed.

    When quiet, its warnings are not shown.
    """
    peak, errors = 0, subprocess.DEVNULL if quiet else None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_kb(process.pid))
            time.sleep(interval)
        printed = process.stdout.read()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak / 1024, printed
