"""Two worker processes of Dask beside one process with two threads: time, memory of the driver, killed workers."""

from __future__ import annotations

import os

from measure.processes import child
from measure.scale.images import write_images
from measure.scale.lab import Lab, Part
from measure.targets import target

TITLE = "Dask cluster"
FEATURES = 110_592
SAMPLES = int(os.environ.get("STERADIAN_SCALE_SAMPLES", "36000"))
"""4 GB; fewer for a trial."""
ROUNDS = 2
KILLS = int(os.environ.get("STERADIAN_SCALE_KILLS", "20"))


def measure(lab: Lab) -> Part:
    """Alternating fits with threads and with workers, then fits with killed workers."""
    data = write_images(lab.folder / f"images-{SAMPLES}.npy", SAMPLES, FEATURES)
    alone, cluster = [], []
    for _ in range(ROUNDS):
        alone.append(child("scale.dask_child", "alone", data))
        cluster.append(child("scale.dask_child", "cluster", data))
    killed = child("scale.dask_child", "killed", data, KILLS)
    one, two = (min(fit["seconds"] for fit in fits) for fits in (alone, cluster))
    memory = max(fit["driver_mb"] for fit in cluster)
    same = killed["same"] == killed["middle"] == KILLS
    size = f"{SAMPLES} x {FEATURES} u8, {SAMPLES * FEATURES / 1e9:.1f} GB in 16 chunks"
    identical = f"{killed['same']} of {killed['middle']} byte-identical"
    return Part(
        [
            ("data", f"{size}; AE, d = 5, krylov"),
            ("one process, two threads", f"{one:.1f} s, {alone[0]['passes']} passes"),
            ("two workers with one thread", f"{two:.1f} s, {cluster[0]['passes']} passes"),
            ("anonymous memory added to the driver", f"{memory:.0f} MB"),
            ("fits with a worker killed during the fit", identical),
        ],
        [
            target("scale.dask.time").row(two / one, f"{two / one:.2f}x ({two:.1f} s / {one:.1f} s)"),
            target("scale.dask.memory").row(memory, f"{memory:.0f} MB"),
            target("scale.dask.bytes").row(same, f"{identical}, {KILLS} requested"),
        ],
    )
