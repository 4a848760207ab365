"""Two worker processes of Dask against one process with two threads: time, the driver's memory, and workers that are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from images import write_images
from lab import Lab, Line

FEATURES = 110_592
# 4 GB, and fewer for a trial of this script.
SAMPLES = int(os.environ.get("STERADIAN_SCALE_SAMPLES", "36000"))
ROUNDS = 2
KILLS = int(os.environ.get("STERADIAN_SCALE_KILLS", "20"))
SCRIPT = Path(__file__).resolve().parent.parent / "dask_fit.py"
# An interpreter that has the package and Dask.
PYTHON = os.environ.get("STERADIAN_PYTHON", sys.executable)


def run(*arguments: object) -> dict:
    command = [PYTHON, str(SCRIPT), *map(str, arguments)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(printed.splitlines()[-1])


def measure(lab: Lab) -> list[Line]:
    data = write_images(lab.folder / f"images-{SAMPLES}.npy", SAMPLES, FEATURES)
    alone, cluster = [], []
    for _ in range(ROUNDS):
        alone.append(run("alone", data))
        cluster.append(run("cluster", data))
    killed = run("killed", data, KILLS)
    one, two = (min(fit["seconds"] for fit in fits) for fits in (alone, cluster))
    passes = alone[0]["passes"], cluster[0]["passes"]
    memory = max(fit["driver_mb"] for fit in cluster)
    same = killed["same"] == killed["middle"] == KILLS
    return [
        Line(
            f"{SAMPLES * FEATURES / 1e9:.1f} GB of u8 ({SAMPLES} x {FEATURES}) in 16 chunks, d = 5: two worker processes against two threads "
            f"({passes[1]} and {passes[0]} passes)",
            "1.6 times",
            f"{two / one:.2f} times ({two:.1f} s and {one:.1f} s)",
            two <= 1.6 * one,
            "1.15 times",
        ),
        Line("its driver's memory", "300 MB", f"{memory:.0f} MB", memory <= 300),
        Line(
            f"a worker killed in the middle, {KILLS} rounds",
            "same bytes each time",
            f"{killed['middle']} killed in the middle of a fit, {killed['same']} times the same bytes",
            same,
        ),
    ]
