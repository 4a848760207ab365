"""The pivot of TAE among a million samples by successive elimination: time, and agreement with the exact count."""

from __future__ import annotations

import random
import struct
from pathlib import Path

from measure.files import npy_header
from measure.program import value
from measure.scale.images import is_complete
from measure.scale.lab import Lab, Part, fastest
from measure.targets import target

TITLE = "TAE with a million samples"
FEATURES = 256
MILLION, MANY = 1_000_000, 160_000
CENTER = 95.5
OPTIONS = ("--method", "tae", "-d", "1", "--max-angle", "60")
CASES = (("wide cone", 20), ("narrow cone, 70 % of the samples tie", 60))
"""Strengths of the axis by the name of the case."""
ROUNDS = 2


def write_cone(path: Path, samples: int, strength: int, seed: int = 3) -> Path:
    """Writes u8 data about 95.5: 70 % near an axis with entries +-`strength`, noise of 64 levels, others anywhere."""
    head = npy_header((samples, FEATURES))
    if is_complete(path, head, samples * FEATURES):
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
    """Writes the center of the data as a vector."""
    path.write_bytes(npy_header((FEATURES,), "<f8") + struct.pack("<d", CENTER) * FEATURES)
    return path


def measure(lab: Lab) -> Part:
    """Fits of a million samples, and fits with both pivot searches."""
    center = ("--center", str(write_center(lab.folder / "middle.npy")))
    part = Part([], [])
    for name, strength in CASES:
        data = write_cone(lab.folder / f"cone-{strength}.npy", MILLION, strength)
        fit = fastest(lab.fit(data, *OPTIONS, *center) for _ in range(ROUNDS))
        warnings = "with a warning" if value(fit.report, "warnings") else "no warning"
        text = f"{fit.seconds:.1f} s, {fit.peak_mb:.0f} MB, support {value(fit.report, 'n_support')}, {warnings}"
        part.figures.append((f"fit of {MILLION} x {FEATURES} u8, {name}", text))
        part.rows.append(
            target("scale.pivot.time")
            .named(size=f"{MILLION} x {FEATURES}", case=name)
            .row(fit.seconds, f"{fit.seconds:.1f} s")
        )
    data = write_cone(lab.folder / "cone-many.npy", MANY, CASES[0][1])
    quick, exact = lab.fit(data, *OPTIONS, *center), lab.fit(data, *OPTIONS, *center, "--exact")
    if quick.report["parameters"]["exact"] or not exact.report["parameters"]["exact"]:
        raise RuntimeError("the fits did not use both pivot searches")
    found = [[value(fit.report, key) for key in ("pivot", "tau_min", "n_support")] for fit in (quick, exact)]
    equal = found[0] == found[1]
    part.figures += [
        (f"fit of {MANY} x {FEATURES} u8, successive elimination", f"{quick.seconds:.1f} s"),
        (f"fit of {MANY} x {FEATURES} u8, exact count (--exact)", f"{exact.seconds:.1f} s"),
    ]
    part.rows.append(target("scale.pivot.exact").named(samples=MANY).row(equal, "equal" if equal else "different"))
    return part
