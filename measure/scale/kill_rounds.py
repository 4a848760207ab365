"""Fits with a checkpoint, killed with SIGKILL at random times and resumed, compared with uninterrupted fits."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from measure.scale.images import write_images
from measure.scale.lab import Lab, Part, WatchedFit, fastest
from measure.targets import target

TITLE = "Killed and resumed fits"
SAMPLES, FEATURES = 4_000, 10_000
ROUNDS = 100
OVERHEAD_ROUNDS = 3
FITS = (
    ("--method", "ae", "-d", "5", "--solver", "krylov"),
    ("--method", "angular", "-d", "3", "--solver", "krylov", "--memory", "32M"),
    ("--method", "robust", "-d", "3"),
    ("--method", "tae", "-d", "3", "--solver", "krylov", "--exact"),
    ("--method", "pca", "-d", "5"),
)
"""Fits of all methods that make passes, with different solvers, mapped and streamed."""
CHECKPOINT_SECONDS = ("0.05", "0.5", "5")


def run_until(command: list[str], moment: float) -> bool:
    """Starts a program and kills it after `moment` seconds; whether it finished before."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            _, messages = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            process.kill()
            return False
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=messages)
    return True


def killed_fit(
    lab: Lab, data: Path, options: tuple[str, ...], whole: float, chance: random.Random
) -> tuple[bytes, int]:
    """The model file of a fit that was killed at random times until it finished, and the number of kills."""
    model, checkpoint = lab.folder / "killed.safetensors", lab.folder / "fit.checkpoint"
    model.unlink(missing_ok=True)
    resume = ("--checkpoint", str(checkpoint), "--checkpoint-every", chance.choice(CHECKPOINT_SECONDS))
    command = lab.program.fit_command(data, model, *options, *resume)
    kills = 0
    while not run_until(command, chance.uniform(0, 0.8) * whole + 0.2 * whole * kills):
        kills += 1
    if left := [path.name for path in lab.folder.glob("fit.checkpoint*")]:
        raise RuntimeError(f"{', '.join(left)}: not removed after the fit finished")
    return model.read_bytes(), kills


def measure(lab: Lab) -> Part:
    """Killed fits of all methods, and the overhead of a checkpoint."""
    data = write_images(lab.folder / "killed.npy", SAMPLES, FEATURES)
    chance = random.Random(11)
    wholes = [lab.fit(data, *options) for options in FITS]
    same, kills, start = 0, 0, time.perf_counter()
    for i in range(ROUNDS):
        options, whole = FITS[i % len(FITS)], wholes[i % len(FITS)]
        model, count = killed_fit(lab, data, options, whole.seconds, chance)
        same, kills = same + (model == whole.model), kills + count
    seconds = time.perf_counter() - start
    plain: list[WatchedFit] = []
    saved: list[WatchedFit] = []
    for _ in range(OVERHEAD_ROUNDS):
        plain.append(lab.fit(data, *FITS[0]))
        saved.append(lab.fit(data, *FITS[0], "--checkpoint", str(lab.folder / "fit.checkpoint")))
    without, with_checkpoint = fastest(plain).seconds, fastest(saved).seconds
    overhead = 100 * (with_checkpoint / without - 1)
    names = ", ".join(options[1] for options in FITS)
    identical = f"{same} of {ROUNDS} byte-identical"
    return Part(
        [
            ("data", f"{SAMPLES} x {FEATURES} u8; {names}"),
            ("fits, kills", f"{ROUNDS} fits, {kills} kills in {seconds:.0f} s"),
            ("model files", identical),
            ("uninterrupted AE fit without checkpoint", f"{without:.3f} s"),
            ("uninterrupted AE fit with checkpoint", f"{with_checkpoint:.3f} s"),
        ],
        [
            target("scale.killed.bytes").row(same == ROUNDS and kills >= ROUNDS, f"{identical}; {kills} kills"),
            target("scale.killed.overhead").row(overhead, f"{overhead:+.1f} %"),
        ],
    )
