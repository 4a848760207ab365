"""Table 2: classification of human actions after reduction to 10, 20, ..., 100 dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import data
from experiments.classifiers import CLASSIFIERS
from experiments.methods import OURS, PAPER_FOUR, ROBUST, fitted
from experiments.outcome import Outcome, Setting, stage
from measure.markdown import table
from measure.verdicts import DEPENDS, HOLDS, SKIPPED

METHODS = {**PAPER_FOUR, ROBUST: OURS[ROBUST]}
ORIGINALS = {"FSD": "fsd10", "Kin": "kinematic"}
"""The paper's sets and the folders in which a user may have their ST-GCN features."""


def run(setting: Setting, expected: dict[str, Any]) -> Outcome:
    """Mean accuracies over dimensions."""
    outcome = Outcome("table2", "Table 2: classification of human actions")
    sets: dict[str, data.Actions] = {}
    for name, folder in ORIGINALS.items():
        try:
            sets[name] = data.actions_of_arrays(setting.data, folder)
        except data.MissingDataError as missing:
            outcome.claim(f"{name}: mean accuracies", numbers(expected, name), str(missing), SKIPPED)
    try:
        sets["MSR"] = data.actions_of_skeletons(setting.data)
    except data.MissingDataError as missing:
        outcome.claim("the stand-in", "-", str(missing), SKIPPED)
    dimensions, trees = ((10, 20), 4) if setting.small else (range(10, 101, 10), 20)
    rows = []
    for name, actions in sets.items():
        means = accuracies(outcome, actions, dimensions, trees)
        rows += [[actions.title, c, *(f"{means[c, m]:.2f}" for m in METHODS)] for c in CLASSIFIERS]
        for classifier in CLASSIFIERS:
            own = {m: means[classifier, m] for m in PAPER_FOUR}
            best = max(own, key=lambda m: own[m])
            spread = max(own.values()) - min(own.values())
            outcome.claim(
                f"{name}, {classifier}: AE has the best mean accuracy",
                numbers(expected, name, classifier),
                f"best: {best}; AE - PCA = {own['AE'] - own['PCA']:+.2f}, spread {spread:.2f}, "
                f"{ROBUST} - AE = {means[classifier, ROBUST] - own['AE']:+.2f}",
                HOLDS if best == "AE" else DEPENDS,
            )
    if rows:
        outcome.tables.append(table(["data", "classifier", *METHODS], rows))
    if "MSR" in sets:
        actions = sets["MSR"]
        outcome.notes.append(
            f"stand-in: {actions.title}, {actions.training.sum()} sequences of subjects 1, 3, 5 to train and "
            f"{(~actions.training).sum()} of 7, 9 to test, {actions.samples.shape[1]} features: 20 joints relative to "
            "the hip in units of the body, at 20 times. FSD-10 and Kinematic are not available"
        )
    return outcome


def numbers(expected: dict[str, Any], name: str, classifier: str | None = None) -> str:
    """The paper's row, where it has one."""
    rows = [key for key in expected if key.startswith(f"{name} ") and (classifier is None or key.endswith(classifier))]
    said = [f"{m} {x:.2f}" for key in rows for m, x in zip(expected["methods"], expected[key], strict=True)]
    return ", ".join(said) or "- (stand-in)"


def accuracies(outcome: Outcome, actions: data.Actions, dimensions: Any, trees: int) -> dict[tuple[str, str], float]:
    """Mean accuracy over the dimensions, by classifier and method."""
    found: dict[tuple[str, str], list[float]] = {(c, m): [] for c in CLASSIFIERS for m in METHODS}
    train, test = actions.training, ~actions.training
    largest = min(train.sum(), actions.samples.shape[1]) - 3
    for name, method in METHODS.items():
        for d in (d for d in dimensions if d <= largest):
            with stage(f"{actions.title}: {name}, d = {d}"):
                try:
                    estimator, warned = fitted(method, d, actions.samples[train])
                except ValueError as error:
                    outcome.notes.append(f"{name}, d = {d}: rejected: {error}")
                    continue
                outcome.notes += [f"{name}, d = {d}: {told}" for told in warned]
                known = (estimator.transform(actions.samples[train]), actions.labels[train])
                new = (estimator.transform(actions.samples[test]), actions.labels[test])
                for classifier, accuracy_of in CLASSIFIERS.items():
                    found[classifier, name].append(accuracy_of(known, new, 0, trees))
    return {key: float(np.mean(values)) if values else float("nan") for key, values in found.items()}
