"""Large synthetic u8 images: a few strong patterns and noise."""

from __future__ import annotations

import random
from pathlib import Path

from measure.files import npy_header

PATTERNS = 9
NOISE = 0x1F
"""Mask of the noise, 0 to 31: added to values below 128 without a carry."""


def patterns_of(features: int) -> list[int]:
    """The patterns, each a row of bytes below 128 as one integer."""
    strips = [bytes(64 + (i * k // 7) % 64 for i in range(features + 60)) for k in (1, 3, 11)]
    return [int.from_bytes(strip[at : at + features], "little") for strip in strips for at in (0, 20, 40)]


def is_complete(path: Path, head: bytes, body: int) -> bool:
    """Whether a file exists and has the size of its header and body."""
    return path.exists() and path.stat().st_size == len(head) + body


def write_images(path: Path, samples: int, features: int, seed: int = 7) -> Path:
    """Writes the file unless it exists in full."""
    head = npy_header((samples, features))
    if is_complete(path, head, samples * features):
        return path
    chance = random.Random(seed)
    patterns = patterns_of(features)
    mask = int.from_bytes(bytes([NOISE]) * features, "little")
    # Rows take their noise from random positions of a pool.
    pool = chance.randbytes(max(64, min(300, samples)) * features)
    with open(path, "wb") as out:
        out.write(head)
        for _ in range(samples):
            at = chance.randrange(len(pool) - features)
            noise = int.from_bytes(pool[at : at + features], "little") & mask
            out.write((patterns[chance.randrange(PATTERNS)] + noise).to_bytes(features, "little"))
    return path
