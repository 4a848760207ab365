"""Tables of angles: this program beside other methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from measure.accuracy.cases import KNOWN, MISSING, NEW
from measure.accuracy.figures import (
    CLEAN_PCA,
    COMPARED,
    FORMER,
    HIGH,
    MEDIAN,
    OTHERS,
    REFERENCE,
    REFERENCE_HIGH,
    REFERENCE_MEDIAN,
    SEEDS,
    Figures,
    least,
)
from measure.accuracy.subspaces import LOST, NEAR, Subspaces
from measure.estimator import DEFAULT
from measure.markdown import Section, table

SUMMARY = {
    "high_0_6_1": "clean, 50 x 100, d = 5",
    "a09_100_clean_0": "clean, 100 x 100, d = 6",
    "clu_0.3_15_3": "30 % outliers in a cluster",
    "clu_0.45_15_3": "45 % outliers in a cluster",
    "near_0.4_1_0.3": "40 % outliers in a cluster near the inliers",
    "lin_0.4_15_3": "40 % outliers on a line",
    "hay_0.5_1": "50 % outliers in all directions",
    "shift_0.01_1000000": "1 % very distant outliers",
    "high_0.2_20_1": "20 % outliers, more features than samples",
    "t_1": "heavy tails",
    "cell_0.1": "10 % bad cells",
    "a09_100_cell20_5": "20 % bad cells",
    "both_0.1_0.2_15": "10 % bad cells, 20 % outliers",
    "a09_100_both_10": "10 % bad cells, 10 % outliers",
    "a09_100_bothNA_5": "10 % bad cells, 10 % outliers, 20 % missing cells",
    "wide_0.1_0.1": "40 x 2000, 10 % bad cells, 10 % outliers",
}
"""Cases of the summary and their descriptions."""
SUMMARY_METHODS = (DEFAULT, "cells", "pca", "ae")
SUMMARY_OTHERS = ("PcaHubert_0.5", "PcaHubert_0.75", "PcaLocantore", "MacroPCA")


def degrees(x: float | None) -> str:
    """An angle with one decimal, as in the figures of other methods; a dash for none."""
    return "-" if x is None else f"{x:.1f}"


def other_cells(figures: Figures, case: str, names: Sequence[str] | Mapping[str, str]) -> list[str]:
    """The figures of other methods on a case."""
    known = figures.get(case, {})
    return [degrees(known.get(name)) for name in names]


def summary(angles: Subspaces, same: Subspaces) -> str:
    """Median angles on some cases, and counts over all cases."""
    methods = [method for method in SUMMARY_METHODS if method in angles.methods]
    head = ["data", "case", *(f"**`{method}`**" for method in methods), *(OTHERS[name] for name in SUMMARY_OTHERS)]
    body = [
        [text, case, *(degrees(angles.median(m, case)) for m in methods), *other_cells(MEDIAN, case, SUMMARY_OTHERS)]
        for case, text in SUMMARY.items()
        if case in angles.cases
    ]
    note = (
        "Largest principal angle between the estimated and the true subspace in degrees, median over seeds; lower is "
        "better, 90 is the largest. Columns in bold are this program; the others are methods of the R packages rrcov "
        "and cellWise ([measure/README.md](../measure/README.md)).\n\n"
    )
    return note + table(head, body, words=2) + counts(angles, same)


def counts(angles: Subspaces, same: Subspaces) -> str:
    """Over all cases: how many have a small median, and how many a large one."""
    groups = [cases for cases in (KNOWN, NEW) if set(cases) <= set(angles.cases)]
    if not groups:
        return ""
    body = []
    for method in angles.methods:
        body.append([f"**`{method}`**", *count_cells(groups, partial(angles.median, method))])
    if same.has(DEFAULT, [case for cases in groups for case in cases]):
        name = f"**`{DEFAULT}`**, seeds of the methods below"
        body.append([name, *count_cells(groups, partial(same.median, DEFAULT))])
    for name, title in COMPARED.items():
        body.append([title, *count_cells(groups, partial(other_median, name))])
    sizes = [str(len(cases)) for cases in groups]
    head = ["method", *(f"near the best, of {size}" for size in sizes), *(f"lost, of {size}" for size in sizes)]
    note = (
        f"\nNear the best: cases with a median of at most {NEAR} times the least median of the methods that are not in "
        f"bold. Lost: cases with a median beyond {LOST:.0f} degrees, or on which the method fails. The figures of the "
        f"methods that are not in bold are of seeds {SEEDS.start} to {SEEDS.stop - 1}.\n\n"
    )
    return note + table(head, body)


def other_median(method: str, case: str) -> float | None:
    """The figure of another method; None if there is none."""
    return MEDIAN[case].get(method)


def count_cells(groups: Sequence[Sequence[str]], median: Callable[[str], float | None]) -> list[str]:
    """Counts over groups of cases: near the best, then lost."""
    near, lost = [], []
    for cases in groups:
        medians = {case: median(case) for case in cases}
        near.append(sum(x is not None and x <= NEAR * least(case)[0] for case, x in medians.items()))
        lost.append(sum(x is None or x > LOST for x in medians.values()))
    return [str(count) for count in near + lost]


def sections(angles: Subspaces, same: Subspaces) -> Iterator[Section]:
    """The tables of all measured cases."""
    groups = {"36 cases": KNOWN, "60 further cases": NEW, "missing cells": MISSING}
    for text, cases in groups.items():
        some = [case for case in cases if case in angles.cases]
        if some:
            yield f"Largest principal angle, {text}: median", median_table(angles, same, some)
            yield f"Largest principal angle, {text}: 90th percentile", high_table(angles, some)
    some = [case for case in KNOWN if case in angles.cases]
    if some:
        yield "Reference implementations", reference_table(some)


TITLES = {CLEAN_PCA: "PCA without contamination"} | OTHERS | FORMER
"""Other methods with their column heads."""
NOTE = (
    f"Degrees; columns in bold are this program, the others are of seeds {SEEDS.start} to {SEEDS.stop - 1}. PCA "
    "without contamination: of the samples and cells that are not contaminated. A dash: not run, or failed."
)


def median_table(angles: Subspaces, same: Subspaces, cases: Sequence[str]) -> str:
    """A row for each case: medians of this program, then of other methods."""
    known = all(case in MEDIAN for case in cases)
    compared, compared_same = (known and some.has(DEFAULT, cases) for some in (angles, same))
    head = ["case", *(f"**`{method}`**" for method in angles.methods)]
    head += [f"`{DEFAULT}` / least other"] if compared else []
    head += [f"**`{DEFAULT}`**, same seeds", "same seeds / least other"] if compared_same else []
    head += TITLES.values() if known else []
    body = []
    for case in cases:
        line = [case, *(degrees(angles.median(method, case)) for method in angles.methods)]
        line += [f"{angles.ratio(DEFAULT, case):.2f}x"] if compared else []
        line += [degrees(same.median(DEFAULT, case)), f"{same.ratio(DEFAULT, case):.2f}x"] if compared_same else []
        line += other_cells(MEDIAN, case, TITLES) if known else []
        body.append(line)
    note = f"{NOTE} Same seeds: those of the other methods." if known else "Degrees."
    return f"{note}\n\n" + table(head, body)


def high_table(angles: Subspaces, cases: Sequence[str]) -> str:
    """A row for each case: 90th percentiles of this program, then of other methods."""
    known = all(case in HIGH for case in cases)
    head = ["case", *(f"**`{method}`**" for method in angles.methods), *(TITLES.values() if known else [])]
    body = [
        [
            case,
            *(degrees(angles.high(m, case)) for m in angles.methods),
            *other_cells(HIGH, case, TITLES if known else []),
        ]
        for case in cases
    ]
    return f"{NOTE if known else 'Degrees.'}\n\n" + table(head, body)


def reference_table(cases: Sequence[str]) -> str:
    """Median and 90th percentile of the reference implementations."""
    body = [
        [case, *(f"{REFERENCE_MEDIAN[case][name]} / {REFERENCE_HIGH[case][name]}" for name in REFERENCE)]
        for case in cases
    ]
    note = "NumPy reference of other methods, seeds 0 to 19: median / 90th percentile in degrees.\n\n"
    return note + table(["case", *REFERENCE.values()], body)
