"""The rows of the table of targets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from measure.accuracy.cases import KNOWN, NEW, sample
from measure.accuracy.cells import COMPLETE
from measure.accuracy.classic_tables import TABLES
from measure.accuracy.diagnosis import CLEAN, COUNTED, OUTLIERS
from measure.accuracy.figures import SEEDS, least
from measure.accuracy.large_tables import TABLES as LARGE
from measure.accuracy.outcome import Outcome
from measure.accuracy.subspaces import Subspaces
from measure.accuracy.times import BASE, CLIPS, FORMER
from measure.estimator import DEFAULT
from measure.rows import Row
from measure.targets import Target, group, target


def near_row(goal: Target, angles: Subspaces, cases: Sequence[str]) -> Row:
    """The number of cases near the best of the other methods, and the names of the others."""
    if not angles.has(DEFAULT, cases):
        return goal.row(None)
    near = angles.near(DEFAULT, cases)
    far = sorted(set(cases) - set(near), key=lambda case: -angles.ratio(DEFAULT, case))
    missed = "; not: " + ", ".join(f"{case} ({angles.ratio(DEFAULT, case):.2f}x)" for case in far) if far else ""
    return goal.row(len(near), f"{len(near)} of {len(cases)}{missed}")


def ratio_rows(angles: Subspaces, seeds: Sequence[str]) -> Iterator[Row]:
    """Ratios to the other methods; `seeds` names those of the 36 and of the 60 cases."""
    known, new = seeds
    yield near_row(target("accuracy.near.known").named(seeds=known), angles, KNOWN)
    yield near_row(target("accuracy.near.new").named(seeds=new), angles, NEW)
    goal = target("accuracy.worst").named(seeds=known)
    if angles.has(DEFAULT, KNOWN):
        ratio, case = max((angles.ratio(DEFAULT, case), case) for case in KNOWN)
        yield goal.row(ratio, f"{ratio:.2f}x ({case}, {least(case)[1]})")
    else:
        yield goal.row(None)
    goal = target("accuracy.lost").named(seeds=known if known == new else f"{known}, {new}")
    if angles.has(DEFAULT, KNOWN + NEW):
        lost, fits = angles.lost(DEFAULT, KNOWN + NEW)
        yield goal.row(100 * lost / fits, f"{100 * lost / fits:.1f} % ({lost} of {fits})")
    else:
        yield goal.row(None)


def seeds_text(seeds: range) -> str:
    """The first and the last seed."""
    return f"seeds {seeds.start} to {seeds.stop - 1}"


def subspace_rows(outcome: Outcome) -> Iterator[Row]:
    """Angles on all cases, and on some."""
    angles = outcome.subspaces
    yield from ratio_rows(angles, [seeds_text(outcome.known_seeds), seeds_text(outcome.new_seeds)])
    yield from ratio_rows(outcome.same_seeds, [seeds_text(SEEDS)] * 2)
    for case, goal in group("accuracy.clean").items():
        if angles.has(DEFAULT, [case]) and angles.has("pca", [case]):
            robust, pca = (angles.median(method, case) for method in (DEFAULT, "pca"))
            yield goal.row(robust / pca, f"{robust / pca:.2f}x ({robust:.1f}° / {pca:.1f}°)")
        else:
            yield goal.row(None)
    for case, goal in group("accuracy.hard").items():
        yield goal.row(angles.median(DEFAULT, case) if angles.has(DEFAULT, [case]) else None)


def cell_rows(outcome: Outcome) -> Iterator[Row]:
    """Missing and bad cells."""
    errors = {filled.case: filled.error for filled in outcome.filled}
    for case in COMPLETE:
        yield target("accuracy.fill").named(case=case).row(errors.get(case))
    found = outcome.reconstructed
    goal = target("accuracy.reconstruction")
    yield goal.row(None) if found is None else goal.row(found.robust, f"{found.robust:.3f}x")
    bad, good = target("accuracy.cells.bad"), target("accuracy.cells.good")
    if outcome.bad_cells:
        fewest = min(outcome.bad_cells, key=lambda detected: detected.bad)
        most = max(outcome.bad_cells, key=lambda detected: detected.good)
        yield bad.row(100 * fewest.bad, f"{100 * fewest.bad:.2f} % ({fewest.case})")
        yield good.row(100 * most.good, f"{100 * most.good:.2f} % ({most.case})")
    else:
        yield from (bad.row(None), good.row(None))


def clean_data_rows(outcome: Outcome) -> Iterator[Row]:
    """Flags on data without outliers: the largest percentage of each group."""
    for name, goal in group("accuracy.flagged").items():
        found = [
            (100 * (flagged.largest_rows if name == "discrete" else flagged.largest), flagged.population.name)
            for flagged in outcome.clean_data
            if flagged.population.group == name and flagged.skew == (name == "skewed")
        ]
        if found:
            # A NaN, of a fit that was rejected, is the worst.
            worst, population = max(found, key=lambda pair: (math.isnan(pair[0]), pair[0]))
            shown = "a fit was rejected" if math.isnan(worst) else f"{worst:.1f} %"
            yield goal.row(worst, f"{shown} ({population})")
        else:
            yield goal.row(None)


def diagnosis_rows(outcome: Outcome) -> Iterator[Row]:
    """Flags of outliers, explained variance, number of components."""
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


def table_rows(outcome: Outcome) -> Iterator[Row]:
    """Classic tables, and tables with missing cells."""
    goal, detected = target("accuracy.tables"), {found.table.name: found for found in outcome.tables}
    for table in TABLES:
        found = detected.get(table.name)
        facts = {"table": table.name, "features": table.features, "components": table.components}
        about = goal.named(outliers=len(table.outliers), **facts)
        if found:
            few = len(found.false_positives) <= goal.parameters["false_positives"]
            yield about.row(found.exact and few, found.text)
        else:
            yield about.row(None)
    used = {found.name: found for found in outcome.used}
    for name in ("TopGear", "dposs-like"):
        goal = target("accuracy.used").named(table=name)
        yield goal.row(used[name].all_used, used[name].text) if name in used else goal.row(None)


def cost_rows(outcome: Outcome) -> Iterator[Row]:
    """Passes and times."""
    timings = {timing.name: timing for timing in outcome.timings}
    for name in (*LARGE, *CLIPS):
        timing = timings.get(name)
        goal = target("accuracy.passes").named(table=name)
        yield goal.row(timing.rounds, str(timing.rounds)) if timing else goal.row(None)
    for name in CLIPS:
        timing = timings.get(name)
        goal = target("accuracy.time.ae").named(case=timing.title if timing else name)
        yield goal.row(timing.ratio(BASE) if timing else None)
    for name, goal in group("accuracy.time.former").items():
        timing = timings.get(name)
        yield goal.row(timing.ratio(FORMER) if timing else None)


def rows(outcome: Outcome) -> list[Row]:
    """All rows."""
    return [
        *subspace_rows(outcome),
        *cell_rows(outcome),
        *clean_data_rows(outcome),
        *diagnosis_rows(outcome),
        *table_rows(outcome),
        *cost_rows(outcome),
    ]
