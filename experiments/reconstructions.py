"""Figures 3 to 5: backgrounds of clips and faces without shadows, measured where there is ground truth."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from steradian import PrincipalComponentPursuit

from experiments import data
from experiments.methods import everyone, fitted
from experiments.outcome import Outcome, Setting, stage
from experiments.pictures import montage
from measure.markdown import table
from measure.verdicts import DEPENDS, FAILS, HOLDS, SKIPPED

CLIP_COMPONENTS = 5
FACE_COMPONENTS = 9
SHOWN = ("original", "reconstruction", "difference")
MOVING = 30
"""Gray levels."""
UNSEEN = 0.005
"""Smaller differences are not visible."""


def reconstruction(estimator: Any, frames: np.ndarray, rows: list[int]) -> np.ndarray:
    """Reconstructions of some frames: the low-rank part of PCP, else mu + (x - mu) Q Q'."""
    if isinstance(estimator, PrincipalComponentPursuit):
        return estimator.low_rank_.reshape(frames.shape)[rows]
    chosen = frames[rows]
    return estimator.inverse_transform(estimator.transform(chosen)).reshape(chosen.shape)


def residual_foreground(frames: np.ndarray, rows: list[int], found: np.ndarray) -> float:
    """The residual foreground of reconstructions: the fraction that is left, median over foreground pixels.

    The foreground differs from the median of all frames by more than `MOVING`; that median is the background.
    """
    still = np.median(frames, axis=0)
    moving = np.abs(frames[rows] - still) > MOVING
    left = (found - still)[moving] / (frames[rows] - still)[moving]
    return float(np.median(left))


def compare(
    outcome: Outcome, setting: Setting, frames: np.ndarray, rows: list[int], d: int, angle: float, name: str
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Reconstructions of some frames by all methods, with a montage, and the percentage of frames in the support."""
    seen, told = {}, {}
    images: dict[str, list[np.ndarray]] = {}
    for method, make in everyone(angle).items():
        with stage(f"{name}: {method}"):
            try:
                estimator, warned = fitted(make, d, frames)
            except ValueError as error:
                outcome.notes.append(f"{name}, {method}: rejected: {error}")
                told[method] = "rejected"
                continue
        outcome.notes += [f"{name}, {method}: {warning}" for warning in warned]
        seen[method] = reconstruction(estimator, frames, rows)
        told[method] = f"{100 * estimator.support_.mean():.0f} %"
        # Inverted difference, as in the paper: white is no difference.
        images[method] = [
            part
            for frame, found in zip(frames[rows], seen[method], strict=True)
            for part in (frame, found, 255 - np.abs(frame - found))
        ]
    heads = [f"{what} {row}" for row in rows for what in SHOWN]
    outcome.figures.append(montage(setting.real / f"{name}.png", images, heads))
    return seen, told


def backgrounds(name: str, title: str, keys: tuple[str, ...]) -> Callable[[Setting, dict[str, Any]], Outcome]:
    """A part that reconstructs the backgrounds of some clips."""

    def run(setting: Setting, expected: dict[str, Any]) -> Outcome:
        del expected  # the figures print no numbers
        outcome = Outcome(name, title)
        rows: list[list[str]] = []
        separated: dict[str, dict[str, float]] = {}
        residual: dict[str, dict[str, float]] = {}
        for key in keys:
            try:
                frames = data.clip(setting.data, key)
                truth = data.foreground(setting.data, key)
            except data.MissingDataError as missing:
                outcome.claim(f"backgrounds of {data.CLIPS[key].title}", "picture", str(missing), SKIPPED)
                continue
            chosen = [len(frames) // 3, 2 * len(frames) // 3]
            if truth is not None:
                chosen[0] = truth[1]
            if setting.small:
                step = max(1, len(frames) // 40)
                kept = sorted({*range(0, len(frames), step), *chosen})
                frames, chosen = frames[kept], [kept.index(c) for c in chosen]
            seen, told = compare(outcome, setting, frames, chosen, CLIP_COMPONENTS, 65.0, f"{name}-{key}")
            for method, found in seen.items():
                area = "-"
                if truth is not None:
                    difference = np.abs(frames[chosen[0]] - found[0])
                    score = float(roc_auc_score(truth[0].ravel(), difference.ravel()))
                    separated.setdefault(key, {})[method] = score
                    area = f"{score:.3f}"
                left = residual_foreground(frames, chosen, found)
                residual.setdefault(key, {})[method] = left
                rows.append([key, method, told[method], f"{100 * left:.0f} %", area])
        if not rows:
            return outcome
        outcome.tables.append(
            table(
                ["clip", "method", "frames in the support", "residual foreground", "area under ROC of the difference"],
                rows,
            )
        )
        outcome.notes.append(
            "5 components, TAE at 65 degrees; the area is that of hand-drawn foreground against the rest, in the frame "
            "with a mask"
        )
        add_verdicts(outcome, separated, residual)
        return outcome

    return run


def add_verdicts(
    outcome: Outcome, separated: dict[str, dict[str, float]], residual: dict[str, dict[str, float]]
) -> None:
    """Verdicts on trimming: by the mask if there is one, else by the residual foreground."""
    for key, left in residual.items():
        masked = separated.get(key)
        scores = masked or {method: 1 - fraction for method, fraction in left.items()}
        steps = [scores.get(method, np.nan) for method in ("PCA", "AE", "TAE 65")]
        better = [b >= a - UNSEEN for a, b in pairwise(steps)]
        measure = "area under ROC" if masked else "residual foreground"
        shown = masked or {method: 100 * fraction for method, fraction in left.items()}
        told = ", ".join(
            f"{method} {value:.3f}" if masked else f"{method} {value:.0f} %" for method, value in shown.items()
        )
        verdict = HOLDS if all(better) else DEPENDS if any(better) else FAILS
        outcome.claim(
            f"{key}: AE leaves less foreground than PCA, TAE less than AE",
            "shown in the figure",
            f"{measure}: {told}",
            verdict,
        )


def faces(setting: Setting, expected: dict[str, Any]) -> Outcome:
    """Figure 5: the faces of one subject under 64 illuminations."""
    del expected
    outcome = Outcome("fig5", "Figure 5: shadows on the faces of Extended Yale B")
    try:
        images = data.faces(setting.data, "yaleB01")
    except data.MissingDataError as missing:
        outcome.claim("shadows on faces", "picture", str(missing), SKIPPED)
        return outcome
    if setting.small:
        images = images[:, ::4, ::4]
    chosen = [len(images) // 4, 3 * len(images) // 4]
    seen, told = compare(outcome, setting, images, chosen, FACE_COMPONENTS, 60.0, "fig5-faces")
    lifted = {}
    for method, found in seen.items():
        original = images[chosen].astype(float)
        shadow = original < 30
        lifted[method] = float(np.median((found - original)[shadow]))
    rows = [[method, told[method], f"{lifted[method]:+.1f}"] for method in seen]
    outcome.tables.append(
        table(["method", "images in the support", "gray levels by which cast shadows are lifted (median)"], rows)
    )
    outcome.notes.append(
        "9 components, TAE at 60 degrees; shadow: darker than 30 in the original. There is no ground truth "
        "under a shadow"
    )
    best = max(lifted, key=lambda method: lifted[method])
    outcome.claim(
        "ALM removes shadows and saturation; TAE reconstructs clearer faces than AE",
        "shown in the figure",
        f"shadows are lifted most by {best} ({lifted[best]:+.1f}); "
        + ", ".join(f"{method} {lifted[method]:+.1f}" for method in lifted if method != best),
        DEPENDS,
    )
    return outcome
