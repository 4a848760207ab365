"""Tables and the machine's name, for the reports that scripts write."""

from __future__ import annotations

import os


def table(head: list[str], body: list[list[str]]) -> str:
    """A markdown table; the first column holds words, the others numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def machine() -> str:
    """The processor and its cores."""
    with open("/proc/cpuinfo") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return f"{models[0] if models else 'unnamed processor'}, {os.cpu_count()} cores"
