"""Figures 1 and 2: how squared cosines suppress outliers, and the synthetic classes in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.classes import four_classes
from experiments.methods import OURS, PAPER_FOUR, ROBUST, fitted
from experiments.outcome import Outcome, Setting, stage
from experiments.pictures import new_figure, save
from measure.verdicts import FAILS, HOLDS


def pair_bias(deviation: float, angles: np.ndarray) -> float:
    """How much the sum of squared cosines of a pair at 90 degrees plus a deviation differs from a constant, at most.

    Angles are those of q in the plane of the pair. The constant is that of the orthogonal pair: 1.
    """
    pair = np.cos(angles) ** 2 + np.cos(angles - np.pi / 2 - deviation) ** 2
    return float(np.abs(pair - 1).max())


def leading(directions: np.ndarray, lengths: np.ndarray | None = None) -> float:
    """The angle of the leading component of samples in the plane, in degrees within (-90, 90]."""
    samples = np.stack([np.cos(directions), np.sin(directions)], axis=1)
    if lengths is not None:
        samples = samples * lengths[:, None]
    vector = np.linalg.eigh(samples.T @ samples)[1][:, -1]
    return float((np.rad2deg(np.arctan2(vector[1], vector[0])) + 90) % 180 - 90)


def circle(setting: Setting, expected: dict[str, Any]) -> Outcome:
    """Figure 1: Theorem 1 in numbers, and the leading component as outliers grow in number and in length."""
    del expected  # the figure prints no numbers
    outcome = Outcome("fig1", "Figure 1: outlier suppression on the circle")
    rng = np.random.default_rng(0)
    fine = np.linspace(0, np.pi, 20_001)
    deviations = np.deg2rad(np.arange(0, 46, 3))
    biases = np.array([pair_bias(deviation, fine) for deviation in deviations])
    bounds = np.sin(deviations)
    worst = float((biases - bounds).max())
    outcome.claim(
        "Theorem 1: a nearly orthogonal pair moves the objective by at most sin xi",
        "bias <= sin xi",
        f"largest excess {worst:.1e} over xi = 0 to 45 degrees",
        HOLDS if worst <= 1e-9 else FAILS,
    )
    with stage("outliers on the circle"):
        inliers = np.deg2rad(rng.normal(20, 12, 2000))
        fractions = np.linspace(0, 0.9, 19)
        curves: dict[str, list[float]] = {"AE": [], "PCA, outliers 3 x as long": [], "PCA, outliers 10 x as long": []}
        for fraction in fractions:
            count = round(fraction / (1 - fraction) * len(inliers))
            outliers = np.deg2rad(rng.normal(110, 12, count))
            both = np.concatenate([inliers, outliers])
            curves["AE"].append(leading(both))
            for factor in (3, 10):
                lengths = np.concatenate([np.ones(len(inliers)), np.full(count, float(factor))])
                curves[f"PCA, outliers {factor} x as long"].append(leading(both, lengths))
    figure, (left, right) = new_figure(1, 2, (9, 3.6))
    left.plot(np.rad2deg(deviations), biases, "o", label="largest change of the objective")
    left.plot(np.rad2deg(deviations), bounds, "-", label="bound sin xi")
    left.set(xlabel="deviation xi from a right angle (degrees)", ylabel="change", title="Theorem 1")
    left.legend()
    for name, values in curves.items():
        right.plot(100 * fractions, np.abs(np.array(values) - 20), ".-", label=name)
    right.set(xlabel="outliers (%)", ylabel="angle to the normal samples (degrees)", title="Orthogonal outliers")
    right.legend(loc="lower right")
    outcome.figures.append(save(figure, setting.figures / "fig1-circle.png"))
    turned = {
        name: next((s for s, v in zip(fractions, values, strict=True) if abs(v - 20) > 45), None)
        for name, values in curves.items()
    }
    told = "; ".join(f"{name}: {'never' if at is None else f'from {100 * at:.0f} %'}" for name, at in turned.items())
    ae, pca = turned["AE"], turned["PCA, outliers 10 x as long"]
    good = ae is not None and ae >= 0.5 and pca is not None and pca < 0.1
    outcome.claim(
        "dense samples decide, not long ones",
        "outliers are suppressed by normal samples",
        f"first component captured by outliers: {told}",
        HOLDS if good else FAILS,
    )
    return outcome


def reductions(setting: Setting, expected: dict[str, Any]) -> Outcome:
    """Figure 2: the first two components of the synthetic classes for each method."""
    del expected
    outcome = Outcome("fig2", "Figure 2: the synthetic classes in two dimensions")
    samples, labels, moved = four_classes(0, 300 if setting.small else 1050)
    methods = {**PAPER_FOUR, ROBUST: OURS[ROBUST]}
    figure, axes = new_figure(1, len(methods), (3 * len(methods), 3.2))
    mixed = {}
    for axis, (name, method) in zip(axes, methods.items(), strict=True):
        with stage(name):
            estimator, warned = fitted(method, 2, samples)
        outcome.notes += [f"{name}: {told}" for told in warned]
        scores = estimator.transform(samples)
        for label in range(4):
            own = labels == label
            axis.plot(*scores[own & ~moved].T, ".", markersize=1.5, label="ABCD"[label], color=f"C{label}")
            axis.plot(*scores[own & moved].T, "x", markersize=2.5, color=f"C{label}")
        axis.set(title=name, xlabel="first component")
        mixed[name] = order_kept(scores[:, 0], labels, moved)
    axes[0].set_ylabel("second component")
    axes[0].legend(markerscale=6)
    outcome.figures.append(save(figure, setting.figures / "fig2-reductions.png"))
    told = ", ".join(f"{name} {100 * fraction:.0f} %" for name, fraction in mixed.items())
    good = mixed["AE"] > 0.9 and max(mixed["PCA"], mixed["EM PCA"]) < 0.7
    outcome.claim(
        "the first component of AE tells the classes apart, that of PCA does not",
        "seen in the picture",
        f"classes told apart by it: {told}",
        HOLDS if good else FAILS,
    )
    return outcome


def order_kept(score: np.ndarray, labels: np.ndarray, moved: np.ndarray) -> float:
    """The fraction of unmoved samples nearest to the median score of their own class."""
    own = ~moved
    medians = np.array([np.median(score[own & (labels == label)]) for label in range(4)])
    nearest = np.abs(score[own, None] - medians).argmin(axis=1)
    return float((nearest == labels[own]).mean())
