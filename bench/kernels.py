"""Our micro-benchmarks, read from what `cargo bench` prints."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

WANTED = "operator_u8|integer_products|cone_counts|mean_u8"
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
NAME = re.compile(r"^\W*(?:├─|╰─)\s*(\w+)\s")
RATE = re.compile(r"([\d.]+) ([KMGT]?)item/s")


def kernels(root: Path) -> dict[str, dict[int, float]]:
    """The most items a second of each benchmark, by its name (with its width, where it has one) and threads."""
    command = ["cargo", "bench", "--quiet", "--package", "steradian", "--bench", "kernels", "--", WANTED]
    printed = subprocess.run(command, capture_output=True, check=True, cwd=root, text=True).stdout
    return parsed(printed)


def parsed(printed: str) -> dict[str, dict[int, float]]:
    """What divan's tree says: a name, perhaps a constant, then a line for each number of threads and its rate."""
    found: dict[str, dict[int, float]] = {}
    path: list[tuple[int, str]] = []
    for line in printed.splitlines():
        if named := NAME.match(line):
            depth = named.start(1)
            path = [(d, name) for d, name in path if d < depth] + [(depth, named.group(1))]
        elif (rate := RATE.search(line)) and len(path) > 1:
            *names, threads = (name for _, name in path)
            items = float(rate.group(1)) * UNITS[rate.group(2)]
            found.setdefault(" ".join(names), {})[int(threads)] = items
    return found
