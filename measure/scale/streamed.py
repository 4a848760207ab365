"""Read rate, memory and growth of fits of a file larger than the memory limit."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

from measure.files import warm
from measure.scale.images import write_images
from measure.scale.lab import Lab, Part, WatchedFit, fastest
from measure.targets import target

TITLE = "Files larger than memory"
FEATURES = 110_592
SMALL, LARGE = 9_000, 72_000
OPTIONS = ("--method", "ae", "-d", "5")
MEMORY = ("--memory", "256M")
ROUNDS = 2
CHUNK = 27 << 20


def raw_rate(path: Path) -> float:
    """Bytes per second of sequential direct reads of the whole file."""
    buffer = mmap.mmap(-1, CHUNK)
    file = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
    try:
        start, done = time.perf_counter(), 0
        while count := os.preadv(file, [buffer], done):
            done += count
        return done / (time.perf_counter() - start)
    finally:
        os.close(file)
        buffer.close()


def measure(lab: Lab) -> Part:
    """Streamed fits of 8 GB and 1 GB, mapped fits of 8 GB, and raw reads, run alternately."""
    small = write_images(lab.folder / "images-1.npy", SMALL, FEATURES)
    large = write_images(lab.folder / "images-8.npy", LARGE, FEATURES)
    size = large.stat().st_size
    raw: list[float] = []
    mapped: list[WatchedFit] = []
    streamed: list[WatchedFit] = []
    short: list[WatchedFit] = []
    for _ in range(ROUNDS):
        raw.append(raw_rate(large))
        streamed.append(lab.fit(large, *OPTIONS, *MEMORY))
        # Other work can slow down a short fit as a whole, so there are as many seconds of short fits as of long ones.
        short += [lab.fit(small, *OPTIONS, *MEMORY) for _ in range(LARGE // SMALL)]
        warm(large)
        mapped.append(lab.fit(large, *OPTIONS))

    def rate(fit: WatchedFit) -> float:
        return fit.passes * size / fit.seconds

    whole, cached, one = fastest(streamed), fastest(mapped), fastest(short)
    limit = min(max(raw), rate(cached))
    percentage = 100 * rate(whole) / limit
    peak = max(fit.peak_mb for fit in streamed)
    growth = whole.seconds / whole.passes / (one.seconds / one.passes) / (LARGE / SMALL)
    more = peak - max(fit.peak_mb for fit in short)
    same = all(fit.model == cached.model for fit in streamed)
    return Part(
        [
            ("data", f"{LARGE} x {FEATURES} u8, {size / 1e9:.1f} GB; AE, d = 5, --memory 256M"),
            ("time of the streamed fit", f"{whole.seconds:.1f} s for {whole.passes} passes"),
            ("read rate of the streamed fit", f"{rate(whole) / 1e9:.2f} GB/s"),
            ("rate of raw direct reads", f"{max(raw) / 1e9:.2f} GB/s"),
            ("rate of passes over cached pages", f"{rate(cached) / 1e9:.2f} GB/s"),
            ("peak anonymous memory of the streamed fit", f"{peak:.0f} MB"),
        ],
        [
            target("scale.streamed.rate").row(percentage, f"{percentage:.0f} %"),
            target("scale.streamed.memory").row(peak, f"{peak:.0f} MB"),
            target("scale.streamed.bytes").row(same, "byte-identical" if same else "different"),
            target("scale.streamed.growth_time").named(factor=LARGE // SMALL).row(growth),
            target("scale.streamed.growth_memory").named(factor=LARGE // SMALL).row(more, f"{more:+.1f} MB"),
        ],
    )
