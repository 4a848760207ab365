"""Fits with a checkpoint, killed with -9 at random moments and started again: the bytes of undisturbed ones."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from images import write_images
from lab import Fit, Lab, Line

SAMPLES, FEATURES = 4_000, 10_000
ROUNDS = 100
# Every method that makes passes; the solvers take turns, and so do mapped and streamed data.
FITS = (
    ("--method", "ae", "-d", "5", "--solver", "krylov"),
    ("--method", "angular", "-d", "3", "--solver", "krylov", "--memory", "32M"),
    ("--method", "robust", "-d", "3"),
    ("--method", "tae", "-d", "3", "--solver", "krylov", "--exact"),
    ("--method", "pca", "-d", "5"),
)
EVERY = ("0.05", "0.5", "5")


def run_until(command: list[str], moment: float) -> bool:
    """Starts a program and kills it after so many seconds; whether it was over before."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            _, said = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.kill()
            return False
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=said)
    return True


def killed_fit(
    lab: Lab, data: Path, options: tuple[str, ...], whole: float, chance: random.Random
) -> tuple[bytes, int]:
    """One round: the model of a fit that was killed at random moments until it was over, and how often it was."""
    model, checkpoint = lab.folder / "killed.safetensors", lab.folder / "fit.checkpoint"
    model.unlink(missing_ok=True)
    command = [lab.program, "fit", str(data), "-o", str(model), *options, "--checkpoint", str(checkpoint)]
    command += ["--checkpoint-every", chance.choice(EVERY)]
    deaths = 0
    while not run_until(command, chance.uniform(0, 0.8) * whole + 0.2 * whole * deaths):
        deaths += 1
    left = [path.name for path in lab.folder.glob("fit.checkpoint*")]
    assert not left, f"{left}: left after a fit that was over"
    return model.read_bytes(), deaths


def fastest(fits: list[Fit]) -> float:
    """The seconds of the fastest."""
    return min(fit.seconds for fit in fits)


def measure(lab: Lab) -> list[Line]:
    data = write_images(lab.folder / "killed.npy", SAMPLES, FEATURES)
    chance = random.Random(11)
    wholes = [lab.fit(data, *options) for options in FITS]
    same, deaths, start = 0, 0, time.perf_counter()
    for i in range(ROUNDS):
        options, whole = FITS[i % len(FITS)], wholes[i % len(FITS)]
        model, died = killed_fit(lab, data, options, whole.seconds, chance)
        same, deaths = same + (model == whole.model), deaths + died
    took = time.perf_counter() - start
    plain, kept = [], []
    for _ in range(3):
        plain.append(lab.fit(data, *FITS[0]))
        kept.append(lab.fit(data, *FITS[0], "--checkpoint", str(lab.folder / "fit.checkpoint")))
    price = fastest(kept) / fastest(plain) - 1
    names = ", ".join(options[1] for options in FITS)
    return [
        Line(
            f"{ROUNDS} fits of {SAMPLES} x {FEATURES} u8 ({names}), killed with -9 at random moments until over",
            "same bytes each time",
            f"{same} of {ROUNDS} the same; {deaths} kills in {took:.0f} s",
            same == ROUNDS and deaths >= ROUNDS,
        ),
        Line(
            "what a checkpoint costs a fit of ae that is not disturbed",
            "10 %",
            f"{price:+.1%} of {fastest(plain):.2f} s",
            price <= 0.1,
            "5 %",
        ),
    ]
