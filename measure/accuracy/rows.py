"""The rows of the table of targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from measure.accuracy.diagnosis import CLEAN, COUNTED, OUTLIERS
from measure.accuracy.models import CASES, sample
from measure.accuracy.outcome import Outcome
from measure.accuracy.subspaces import MEDIAN, Subspaces
from measure.accuracy.times import NAMES
from measure.rows import Row
from measure.targets import Target, group, target

ROBPCA = "ROBPCA_0.5"
ROWWISE = [case for case in CASES if not case.startswith("cell_")]


def of_kind(*kinds: str) -> list[str]:
    """The cases of some kinds that have outliers."""
    return [case for case in CASES if case.split("_")[0] in kinds and float(case.split("_")[1]) > 0]


def rounded(x: float) -> float:
    """An angle with one decimal, as in the reference figures."""
    return round(x, 1)


def worst_median(angles: Subspaces, method: str, cases: Sequence[str]) -> tuple[float, str]:
    """The largest median of some cases, and its text."""
    reached, case = max((angles.median(method, case), case) for case in cases)
    return reached, f"{reached:.2f}°" + (f" ({case})" if len(cases) > 1 else "")


def median_row(goal: Target, angles: Subspaces, method: str, cases: Sequence[str]) -> Row:
    """The largest median of some cases."""
    return goal.row(*worst_median(angles, method, cases)) if angles.has(method, cases) else goal.row(None)


def robpca_row(goal: Target, angles: Subspaces, cases: Sequence[str]) -> Row:
    """The largest median of some cases; the goal is the figure of ROBPCA for each case."""
    if not angles.has("robust", cases):
        return goal.row(None)
    reached, text = worst_median(angles, "robust", cases)
    within = [case for case in cases if rounded(angles.median("robust", case)) <= MEDIAN[case][ROBPCA]]
    text += f"; {len(within)} of {len(cases)} within ROBPCA(0.5)"
    return goal.row(reached, text, goal_met=len(within) == len(cases))


def subspace_rows(angles: Subspaces) -> Iterator[Row]:
    """Angles on all kinds of contamination."""
    yield robpca_row(target("accuracy.clusters.median"), angles, of_kind("clu"))
    goal, cases = target("accuracy.clusters.high"), of_kind("clu")
    if angles.has("robust", cases):
        reached, case = max((angles.high("robust", case), case) for case in cases)
        yield goal.row(reached, f"{reached:.2f}° ({case})")
    else:
        yield goal.row(None)
    yield median_row(target("accuracy.lines"), angles, "robust", of_kind("lin", "shift"))
    for case, goal in group("accuracy.haystack").items():
        yield median_row(goal, angles, "robust", [case])
    for kind, goal in group("accuracy.shifted").items():
        yield robpca_row(goal, angles, of_kind(kind))
    for case, goal in group("accuracy.clean").items():
        if angles.has("robust", [case]) and angles.has("pca", [case]):
            robust, pca = (angles.median(method, case) for method in ("robust", "pca"))
            yield goal.row(robust / pca, f"{robust / pca:.2f}x ({robust:.1f}° / {pca:.1f}°)")
        else:
            yield goal.row(None)
    for case in of_kind("cell"):
        yield median_row(target("accuracy.cells").named(case=case), angles, "cells", [case])


def worst_ratio(angles: Subspaces, method: str, cases: Sequence[str], columns: set[str]) -> tuple[float, str, int]:
    """The largest ratio to the best of some reference methods, its case, and the number of ratios up to the goal."""
    goal = target("accuracy.best").goal
    ratios = {}
    for case in cases:
        best = min(figure for column, figure in MEDIAN[case].items() if column in columns)
        ratios[case] = rounded(angles.median(method, case)) / best
    worst = max(ratios, key=lambda case: ratios[case])
    return ratios[worst], worst, sum(ratio <= goal for ratio in ratios.values() if isinstance(goal, float))


def reference_rows(angles: Subspaces) -> Iterator[Row]:
    """Ratios to the reference figures; angles are rounded in the same way."""
    goal = target("accuracy.robpca")
    if angles.has("robust", ROWWISE):
        ratio, case, _ = worst_ratio(angles, "robust", ROWWISE, {ROBPCA})
        yield goal.row(ratio, f"{ratio:.2f}x ({case})")
    else:
        yield goal.row(None)
    goal = target("accuracy.best")
    complete = [method for method in angles.methods if angles.has(method, CASES)]
    if not complete:
        yield goal.row(None)
        return
    found = {method: worst_ratio(angles, method, CASES, set(MEDIAN[CASES[0]])) for method in complete}
    best = min(found, key=lambda method: found[method][0])
    ratio, case, near = found[best]
    yield goal.row(ratio, f"`{best}`: {ratio:.2f}x ({case}); {near} of {len(CASES)} within {goal.goal}x")


def cutoff_rows(outcome: Outcome) -> Iterator[Row]:
    """Clean data within the cutoffs."""
    within = {
        "score": [kind.within_score for kind in outcome.calibration],
        "orthogonal": [x for kind in outcome.calibration if (x := kind.within_orthogonal) is not None],
    }
    for cutoff, fractions in within.items():
        goal = target("accuracy.cutoffs").named(cutoff=cutoff)
        if fractions:
            low, high = 100 * min(fractions), 100 * max(fractions)
            yield goal.row((low, high), f"{low:.1f} to {high:.1f} %")
        else:
            yield goal.row(None)


def diagnosis_rows(outcome: Outcome) -> Iterator[Row]:
    """Flags, explained variance, number of components."""
    goal = target("accuracy.flags")
    if outcome.flagged:
        worst = min(outcome.flagged, key=lambda found: found.outliers)
        yield goal.row(100 * worst.outliers, f"{100 * worst.outliers:.2f} % ({worst.case})")
    else:
        yield goal.row(None)
    for name, found, cases in (("clean", outcome.clean, CLEAN), ("outliers", outcome.outliers, OUTLIERS)):
        goal, errors = target(f"accuracy.variance.{name}"), {case.case: 100 * case.worst for case in found}
        for case in cases:
            error = errors.get(case)
            yield goal.named(case=case).row(error, "" if error is None else f"{error:.1f} %")
    counted = {case.case: case for case in outcome.counted}
    for case in COUNTED:
        goal = target("accuracy.components").named(case=case, components=sample(case, 0).components)
        if count := counted.get(case):
            text = f"{count.percentage:.0f} % ({count.right} of {len(count.found)})"
            yield goal.row(count.percentage, text)
        else:
            yield goal.row(None)


def other_rows(outcome: Outcome) -> Iterator[Row]:
    """Times and classic tables."""
    goal = target("accuracy.time")
    for timing in outcome.timings:
        text = f"{timing.ratio:.2f}x ({timing.robust:.2f} s / {timing.ae:.2f} s)"
        yield goal.named(case=timing.title).row(timing.ratio, text)
    if not outcome.timings:
        yield goal.named(case=" and ".join(NAMES)).row(None)
    detected = {found.table.name: found for found in outcome.tables}
    for name, goal in group("accuracy.tables").items():
        if found := detected.get(name):
            allowed = goal.parameters.get("false_positives", float("inf"))
            met = not found.missed and len(found.false_positives) <= allowed
            yield goal.row(met, found.text)
        else:
            yield goal.row(None)


def rows(outcome: Outcome) -> list[Row]:
    """All rows."""
    return [
        *subspace_rows(outcome.subspaces),
        *reference_rows(outcome.subspaces),
        *cutoff_rows(outcome),
        *diagnosis_rows(outcome),
        *other_rows(outcome),
    ]
