"""The outcome of a run as markdown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from outcome import Outcome
from reach import rows
from subspaces import HIGH, MEDIAN, Figures

sys.path.append(str(Path(__file__).parent.parent / "scripts"))
from markdown import machine, table

REFERENCE = {
    "PCA": "PCA",
    "TGA": "TGA",
    "ALM": "ALM",
    "AE": "AE",
    "TAE60": "TAE",
    "AE_spatial_median": "angular",
    "Tyler": "Tyler",
    "FMS": "FMS",
    "ROBPCA_0.75": "ROBPCA(.75)",
    "ROBPCA_0.5": "ROBPCA(.5)",
    "sdo_ae": "robust",
    "cell_ae": "cells",
}
"""Columns of the reference that are shown, with their heads."""


def degrees(x: float) -> str:
    """One decimal, as the reference has."""
    return f"{x:.1f}"


def angle_table(outcome: Outcome, ours: Callable[[str, str], float], reference: Figures) -> str:
    """A line for each case: ours, then the reference."""
    methods = outcome.subspaces.methods
    head = ["case", *(f"**{method}**" for method in methods), *(f"ref. {name}" for name in REFERENCE.values())]
    body = []
    for case in outcome.subspaces.cases:
        figures = [degrees(ours(method, case)) for method in methods]
        known = reference.get(case, {})
        body.append([case, *figures, *(degrees(known[name]) if known else "-" for name in REFERENCE)])
    return table(head, body)


def calibration_text(outcome: Outcome) -> str:
    """Shares within the cutoffs."""
    body = []
    for kind in outcome.calibration:
        orthogonal = kind.within_orthogonal
        shares = [f"{100 * kind.within_score:.2f} %", "none" if orthogonal is None else f"{100 * orthogonal:.2f} %"]
        name = f"{kind.samples} x {kind.features}, variances {kind.spectrum}, d = {kind.components}"
        body.append([name, f"{kind.scale:g}", *shares])
    note = (
        "Clean Gaussian data: share of samples that `steradian outliers` finds within each cutoff, mean over seeds; "
        "97.5 % is what the cutoffs are made for. None: d reaches the rank, so nothing is orthogonal.\n\n"
    )
    return note + table(["data", "scale", "within score cutoff", "within orthogonal cutoff"], body)


def caught_text(outcome: Outcome) -> str:
    """Flags on clusters."""
    body = [[c.case, f"{100 * c.outliers:.2f} %", f"{100 * c.good:.2f} %"] for c in outcome.caught]
    return "Share of rows with a flag other than regular, mean over seeds.\n\n" + table(
        ["case", "outliers flagged", "good rows flagged"], body
    )


def variances_text(outcome: Outcome) -> str:
    """Ratios of variances."""
    body = [
        [found.case, ", ".join(f"{ratio:.2f}" for ratio in found.ratios)]
        for found in [*outcome.clean, *outcome.dirty]
    ]
    note = "`variances` of `robust` divided by the true ones, both largest first; median over seeds.\n\n"
    return note + table(["case", "found / true"], body)


def counted_text(outcome: Outcome) -> str:
    """What -d auto found."""
    body = []
    for case in outcome.counted:
        found = ", ".join(f"{d} in {case.found.count(d)}" for d in sorted(set(case.found)))
        body.append([case.case, str(case.true), found])
    return "Components found by `-d auto`, and in how many seeds.\n\n" + table(["case", "true d", "found"], body)


def sections(outcome: Outcome) -> list[tuple[str, str]]:
    """Titles and texts, in order; what was not measured is left out."""
    texts = [("To reach", table(["", "must", "aim", "this run", "met"], [list(vars(row).values()) for row in rows(outcome)]))]
    if outcome.subspaces.methods:
        median = angle_table(outcome, outcome.subspaces.median, MEDIAN)
        texts.append(("Largest principal angle, degrees: median", median))
        high = angle_table(outcome, outcome.subspaces.high, HIGH)
        texts.append(("Largest principal angle, degrees: 90th percentile", high))
    if outcome.subspaces.refused:
        refused = "".join(f"- {line}\n" for line in outcome.subspaces.refused)
        texts.append(("Fits that were refused", f"They count as 90 degrees.\n\n{refused}"))
    for title, part, text in (
        ("Cutoffs on clean data", outcome.calibration, calibration_text),
        ("Outliers flagged", outcome.caught, caught_text),
        ("Variances", outcome.clean or outcome.dirty, variances_text),
        ("Number of components", outcome.counted, counted_text),
    ):
        if part:
            texts.append((title, text(outcome)))
    return texts


def markdown(outcome: Outcome, command: str) -> str:
    """The whole page."""
    head = (
        "# Against the truth\n\n"
        f"Made by `{command}`, which overwrites this file; {date.today()}, {machine()}.\n\n"
        f"Data with a known subspace and known outliers, seeds 0 to {outcome.seeds - 1}; what the cases are is in "
        "[truth/models.py](../truth/models.py). Methods run with their defaults and the true number of components; no "
        "option depends on the case, and each data set draws its own pairs (its seed is the `--seed` of the fit). Columns "
        "in bold are this program. Columns with ref. are figures of the reference implementations, from [truth/README.md](../truth/README.md).\n"
    )
    return head + "".join(f"\n## {title}\n\n{text}" for title, text in sections(outcome))
