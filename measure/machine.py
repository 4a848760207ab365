"""Facts about the machine and the sources that a report names."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from measure.paths import ROOT

IDLE = 0.5
"""Load average up to which the machine counts as idle."""


def processor() -> str:
    """The name of the processor."""
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unnamed processor"


def memory_gb() -> float:
    """Physical memory in GB of 1e9 bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def machine() -> str:
    """Processor, cores, memory and system."""
    cores = os.cpu_count()
    return f"{processor()}, {cores} cores, {memory_gb():.0f} GB of memory, {platform.system()} {platform.machine()}"


def commit() -> str:
    """The short commit of the sources, with a note if tracked files were changed."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        name = git("rev-parse", "--short", "HEAD")
        return name + (" with uncommitted changes" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def load_average() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]


def load_text(load: float) -> str:
    """The load average, with a note if other work ran."""
    noise = "; other work was running, so times may be too long" if load > IDLE else ""
    return f"load average at the start {load:.1f}{noise}"


def versions(*packages: str) -> str:
    """Names and versions of installed packages."""
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (not installed)")
    return ", ".join(found)


def stamp(command: str, *facts: str) -> str:
    """The first sentence of a report: the command that writes it, date, commit, machine and further facts."""
    return "; ".join([f"Written by `{command}` on {date.today()} at commit {commit()}", machine(), *facts]) + "."
