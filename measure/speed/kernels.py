"""Micro-benchmarks of the library, read from the output of `cargo bench`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

SELECTED = "operator_u8|integer_products|cone_counts|mean_u8"
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
NAME = re.compile(r"^\W*(?:├─|╰─)\s*(\w+)\s")
RATE = re.compile(r"([\d.]+) ([KMGT]?)item/s")

Rates = dict[str, dict[int, float]]
"""Items per second by the name of the benchmark (with its width, if it has one) and the number of threads."""


def kernels(root: Path) -> Rates:
    """The highest rate of each benchmark."""
    command = ["cargo", "bench", "--quiet", "--package", "steradian", "--bench", "kernels", "--", SELECTED]
    printed = subprocess.run(command, capture_output=True, check=True, cwd=root, text=True).stdout
    return parsed(printed)


def parsed(printed: str) -> Rates:
    """The rates in the tree that divan prints: a name, perhaps a constant, then a line for each number of threads."""
    found: Rates = {}
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
