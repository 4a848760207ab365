"""Large files of images: a few strong patterns, and noise, as bytes. No packages."""

from __future__ import annotations

import random
from pathlib import Path

PATTERNS = 9


def header(samples: int, features: int) -> bytes:
    """The head of a .npy file of bytes."""
    words = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({samples}, {features}), }}"
    words += " " * (-(len(words) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words.encode()


def write_images(path: Path, samples: int, features: int, seed: int = 7) -> Path:
    """Writes the file unless it is there, whole."""
    head = header(samples, features)
    if path.exists() and path.stat().st_size == len(head) + samples * features:
        return path
    chance = random.Random(seed)
    strips = [bytes(64 + (i * k // 7) % 64 for i in range(features + 60)) for k in (1, 3, 11)]
    patterns = [int.from_bytes(strip[at : at + features], "little") for strip in strips for at in (0, 20, 40)]
    # Noise of 0 to 31 on bytes below 128 adds up without a carry. Rows take it from any place of a pool.
    mask = int.from_bytes(b"\x1f" * features, "little")
    pool = chance.randbytes(max(64, min(300, samples)) * features)
    with open(path, "wb") as out:
        out.write(head)
        for _ in range(samples):
            at = chance.randrange(len(pool) - features)
            noise = int.from_bytes(pool[at : at + features], "little") & mask
            out.write((patterns[chance.randrange(PATTERNS)] + noise).to_bytes(features, "little"))
    return path
