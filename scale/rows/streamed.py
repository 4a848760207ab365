"""A file larger than the memory that a fit may use: speed, memory, and growth with the size of the file."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

from images import write_images
from lab import Lab, Line

FEATURES = 110_592
SMALL, LARGE = 9_000, 72_000
OPTIONS = ("--method", "ae", "-d", "5")
MEMORY = ("--memory", "256M")
ROUNDS = 2
PIECE = 27 << 20


def raw_rate(path: Path) -> float:
    """Bytes per second of direct reads, one after the other, of the whole file."""
    buffer = mmap.mmap(-1, PIECE)
    file = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
    try:
        start, done = time.perf_counter(), 0
        while count := os.preadv(file, [buffer], done):
            done += count
        return done / (time.perf_counter() - start)
    finally:
        os.close(file)
        buffer.close()


def warm(path: Path) -> None:
    """Puts the file into the system's cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(PIECE):
            pass


def measure(lab: Lab) -> list[Line]:
    small = write_images(lab.folder / "images-1.npy", SMALL, FEATURES)
    large = write_images(lab.folder / "images-8.npy", LARGE, FEATURES)
    bytes_of = large.stat().st_size
    raw, mapped, streamed, little = [], [], [], []
    for _ in range(ROUNDS):
        raw.append(raw_rate(large))
        streamed.append(lab.fit(large, *OPTIONS, *MEMORY))
        # A short fit is met by a busy moment as a whole: the least of as many seconds as the long one has.
        little += [lab.fit(small, *OPTIONS, *MEMORY) for _ in range(LARGE // SMALL)]
        warm(large)
        mapped.append(lab.fit(large, *OPTIONS))
    best = lambda fits: min(fits, key=lambda fit: fit.seconds)  # noqa: E731
    rate = lambda fit: fit.passes * bytes_of / fit.seconds  # noqa: E731
    whole, memory, one = best(streamed), best(mapped), best(little)
    limit = min(max(raw), rate(memory))
    share = rate(whole) / limit
    peak = max(fit.peak_mb for fit in streamed)
    growth = whole.seconds / whole.passes / (one.seconds / one.passes) / (LARGE / SMALL)
    more = peak - max(fit.peak_mb for fit in little)
    same = all(fit.model == memory.model for fit in streamed)
    return [
        Line(
            f"8 GB of u8 ({LARGE} x {FEATURES}), --memory 256M, d = 5: streamed pass against the slower of raw reads "
            f"({max(raw) / 1e9:.2f} GB/s) and passes over cached pages ({rate(memory) / 1e9:.2f} GB/s)",
            "75 %",
            f"{share:.0%} ({rate(whole) / 1e9:.2f} GB/s, {whole.passes} passes in {whole.seconds:.1f} s)",
            share >= 0.75,
            "90 %",
        ),
        Line("its anonymous memory, at most", "256 MB", f"{peak:.0f} MB", peak <= 256),
        Line("its model against that of the mapped file", "same bytes", "same" if same else "other bytes", same),
        Line(
            "growth from 1 to 8 GB: time of a pass against 8 times that of 1 GB",
            "within 10 %",
            f"{growth:.2f}",
            0.9 <= growth <= 1.1,
        ),
        Line("growth from 1 to 8 GB: memory", "unchanged (5 MB)", f"{more:+.1f} MB", abs(more) <= 5),
    ]
