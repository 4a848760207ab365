"""Table 1: classification of the synthetic classes after reduction to one and two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.classes import four_classes, parts
from experiments.classifiers import CLASSIFIERS
from experiments.methods import OURS, PAPER_FOUR, ROBUST, SCREENED, fitted, screened_ae
from experiments.outcome import Outcome, Setting, stage
from measure.markdown import table
from measure.verdicts import DEPENDS, FAILS, HOLDS

METHODS = {**PAPER_FOUR, ROBUST: OURS[ROBUST], SCREENED: screened_ae}


def run(setting: Setting, expected: dict[str, Any]) -> Outcome:
    """Accuracies, means over seeds."""
    outcome = Outcome("table1", "Table 1: classification of synthetic data")
    seeds, per_class, trees = (2, 300, 20) if setting.small else (10, 1050, 60)
    accuracy = {(d, c, m): [] for d in (1, 2) for c in CLASSIFIERS for m in METHODS}
    for seed in range(seeds):
        with stage(f"seed {seed}"):
            samples, labels, _ = four_classes(seed, per_class)
            train, test = parts(len(labels))
            for d in (1, 2):
                for name, method in METHODS.items():
                    estimator, warned = fitted(method, d, samples[train])
                    outcome.notes += [f"{name}, d = {d}, seed {seed}: {told}" for told in warned]
                    known = (estimator.transform(samples[train]), labels[train])
                    new = (estimator.transform(samples[test]), labels[test])
                    for classifier, accuracy_of in CLASSIFIERS.items():
                        accuracy[d, classifier, name].append(accuracy_of(known, new, seed, trees))
    means = {key: float(np.mean(values)) for key, values in accuracy.items()}
    rows = []
    for d in (1, 2):
        for classifier in CLASSIFIERS:
            printed = dict(zip(expected["methods"], expected[f"{d} {classifier}"], strict=True))
            cells = [f"{means[d, classifier, m]:.2f} ({printed[m]:.2f})" for m in PAPER_FOUR]
            rows.append([str(d), classifier, *cells, *(f"{means[d, classifier, m]:.2f}" for m in (ROBUST, SCREENED))])
    outcome.tables.append(table(["d", "classifier", *METHODS], rows))
    outcome.notes.append(
        f"mean of {seeds} seeds, the paper's value in brackets; the generator is ours, since the paper prints none"
    )
    add_verdicts(outcome, means)
    return outcome


def add_verdicts(outcome: Outcome, means: dict[tuple[int, str, str], float]) -> None:
    """Verdicts on the claims about the table."""

    def spread(d: int, *names: str) -> list[float]:
        return [means[d, c, m] for c in CLASSIFIERS for m in names]

    def words(values: list[float]) -> str:
        return f"{min(values):.2f} to {max(values):.2f}"

    low, high = spread(1, "PCA", "EM PCA"), spread(1, "TGA", "AE")
    fooled = max(low) <= 54 and min(low) >= 45
    outcome.claim("PCA, EM PCA at d = 1", "48.73 to 53.41", words(low), HOLDS if fooled else FAILS)
    outcome.claim("TGA, AE at d = 1", "95.47 to 96.03", words(high), HOLDS if min(high) >= 95 else FAILS)
    both = spread(2, *METHODS)
    outcome.claim("all methods at d = 2", "99.68 to 99.84", words(both), HOLDS if min(both) >= 99.5 else FAILS)
    best = all(
        means[d, c, "AE"] >= max(means[d, c, m] for m in PAPER_FOUR) - 0.005 for d in (1, 2) for c in CLASSIFIERS
    )
    ours = ", ".join(f"{means[1, c, 'AE'] - means[1, c, 'TGA']:+.2f}" for c in CLASSIFIERS)
    outcome.claim("AE is the best everywhere", "AE - TGA at d = 1: +0.56, 0.00", ours, HOLDS if best else DEPENDS)
    behind = {
        name: min(means[d, c, name] - means[d, c, "AE"] for d in (1, 2) for c in CLASSIFIERS)
        for name in (ROBUST, SCREENED)
    }
    told = ", ".join(f"{name} {worst:+.2f} at worst" for name, worst in behind.items())
    outcome.claim("`robust` is at least as accurate as AE", "-", told, HOLDS if behind[ROBUST] >= 0 else FAILS)
