"""The pivot of the cone among a million samples, by elimination: time, and the answer of the exact count where that can run."""

from __future__ import annotations

import random
import struct
from pathlib import Path

from images import header
from lab import Lab, Line

FEATURES = 256
MILLION, MANY = 1_000_000, 160_000
MIDDLE = 95.5
OPTIONS = ("--method", "tae", "-d", "1", "--angle", "60")


def write_cone(path: Path, samples: int, strength: int, seed: int = 3) -> Path:
    """Bytes: 70 % around an axis of entries +-`strength` with noise of 64 levels, the others anywhere, around 95.5."""
    head = header(samples, FEATURES)
    if path.exists() and path.stat().st_size == len(head) + samples * FEATURES:
        return path
    chance = random.Random(seed)
    axis = int.from_bytes(bytes(64 + strength * chance.choice((-1, 1)) for _ in range(FEATURES)), "little")
    anywhere = int.from_bytes(b"\x20" * FEATURES, "little")
    little, much = (int.from_bytes(level * FEATURES, "little") for level in (b"\x3f", b"\x7f"))
    with open(path, "wb") as out:
        out.write(head)
        for _ in range(samples):
            noise = int.from_bytes(chance.randbytes(FEATURES), "little")
            row = axis + (noise & little) if chance.random() < 0.7 else anywhere + (noise & much)
            out.write(row.to_bytes(FEATURES, "little"))
    return path


def write_center(path: Path) -> Path:
    """The middle of the data, as a vector."""
    words = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({FEATURES},), }}"
    words += " " * (-(len(words) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words.encode()
    path.write_bytes(head + struct.pack("<d", MIDDLE) * FEATURES)
    return path


def measure(lab: Lab) -> list[Line]:
    center = ("--center", str(write_center(lab.folder / "middle.npy")))
    lines = []
    for name, strength in (("neighbours of most differ", 20), ("a bundle, where 70 % of all tie exactly", 60)):
        data = write_cone(lab.folder / f"cone-{strength}.npy", MILLION, strength)
        fit = min((lab.fit(data, *OPTIONS, *center) for _ in range(2)), key=lambda fit: fit.seconds)
        report = fit.report
        lines.append(
            Line(
                f"the whole fit of {MILLION} x {FEATURES} u8, {name}",
                "60 s",
                f"{fit.seconds:.1f} s, {fit.peak_mb:.0f} MB; {report['n_kept']} kept; "
                + ("no doubt" if not report["warnings"] else "with a warning"),
                fit.seconds <= 60,
                "20 s",
            )
        )
    data = write_cone(lab.folder / "cone-many.npy", MANY, 20)
    quick, exact = lab.fit(data, *OPTIONS, *center), lab.fit(data, *OPTIONS, *center, "--exact")
    assert not quick.report["parameters"]["exact"] and exact.report["parameters"]["exact"], "both ways ran"
    told = [[fit.report[key] for key in ("pivot", "tau_min", "n_kept")] for fit in (quick, exact)]
    lines.append(
        Line(
            f"{MANY} samples: pivot, its tau and the kept against the exact count",
            "equal",
            f"{'equal' if told[0] == told[1] else 'different'}; {quick.seconds:.1f} s beside {exact.seconds:.1f} s",
            told[0] == told[1],
        )
    )
    return lines
