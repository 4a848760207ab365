"""The report of a run as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from measure.accuracy.models import LEGEND
from measure.accuracy.outcome import Outcome
from measure.accuracy.rows import rows
from measure.accuracy.subspaces import HIGH, MEDIAN, Figures
from measure.machine import load_text, stamp
from measure.markdown import Section, page, table, targets_section

REFERENCE = {
    "PCA": "PCA",
    "TGA": "TGA",
    "ALM": "ALM",
    "AE": "AE",
    "TAE60": "TAE",
    "AE_spatial_median": "angular",
    "Tyler": "Tyler",
    "FMS": "FMS",
    "ROBPCA_0.75": "ROBPCA(0.75)",
    "ROBPCA_0.5": "ROBPCA(0.5)",
    "sdo_ae": "robust",
    "cell_ae": "cells",
}
"""Reference methods that are shown, with their column heads."""
SUMMARY = {
    "low_0_6_1": "no outliers, 100 x 4, d = 3",
    "clu_0.3_15_3": "30 % outliers in a cluster, 200 x 30, d = 3",
    "clu_0.45_15_3": "45 % outliers in a cluster, 200 x 30, d = 3",
    "lin_0.4_15_3": "40 % outliers on a line, 200 x 30, d = 3",
    "hay_0.5_1": "50 % outliers in all directions, 200 x 50, d = 5",
    "shift_0.01_1000000": "1 % very distant outliers, 200 x 30, d = 3",
    "high_0.2_20_1": "20 % shifted outliers, 50 x 100, d = 5",
    "cell_0.1": "10 % cellwise outliers, 200 x 50, d = 3",
}
"""Cases of the summary and their descriptions."""
SUMMARY_METHODS = ("pca", "ae", "robust", "cells")
SUMMARY_REFERENCE = ("ROBPCA_0.75", "ROBPCA_0.5")


def degrees(x: float) -> str:
    """An angle with one decimal, as in the reference figures."""
    return f"{x:.1f}"


def reference_cells(figures: Figures, case: str, names: Mapping[str, str]) -> list[str]:
    """The figures of reference methods on a case; dashes for a case without."""
    known = figures.get(case, {})
    return [degrees(known[name]) if known else "-" for name in names]


def summary_text(outcome: Outcome) -> str:
    """Median angles of some cases, beside ROBPCA."""
    angles = outcome.subspaces
    methods = [method for method in SUMMARY_METHODS if method in angles.methods]
    others = {name: REFERENCE[name] for name in SUMMARY_REFERENCE}
    head = ["data (n x D)", "case", *(f"`{method}`" for method in methods), *others.values()]
    body = [
        [text, case, *(degrees(angles.median(m, case)) for m in methods), *reference_cells(MEDIAN, case, others)]
        for case, text in SUMMARY.items()
        if case in angles.cases
    ]
    note = (
        f"Largest principal angle between the estimated and the true subspace in degrees, median of {outcome.seeds} "
        "seeds; lower is better, 90 is the largest. ROBPCA: `PcaHubert` of the R package rrcov with its parameter "
        "alpha, on the same data, median of seeds 0 to 19.\n\n"
    )
    return note + table(head, body, words=2)


def legend_text() -> str:
    """The meaning of the names of cases."""
    body = [[kind, numbers, size, text] for kind, (numbers, size, text) in LEGEND.items()]
    note = (
        "A case is named by its kind and its numbers: clu_0.3_15_3 is a cluster of 30 % of the samples at distance 15, "
        "with d = 3.\n\n"
    )
    return note + table(["kind", "numbers", "n x D", "contamination"], body, words=4)


def angle_table(outcome: Outcome, ours: Callable[[str, str], float], reference: Figures) -> str:
    """A row for each case: this program, then the reference."""
    methods = outcome.subspaces.methods
    head = ["case", *(f"**{method}**" for method in methods), *(f"ref. {name}" for name in REFERENCE.values())]
    body = [
        [case, *(degrees(ours(method, case)) for method in methods), *reference_cells(reference, case, REFERENCE)]
        for case in outcome.subspaces.cases
    ]
    note = (
        "Degrees. Columns in bold are this program; columns with ref. are figures of the reference implementations "
        "([measure/README.md](../measure/README.md)).\n\n"
    )
    return note + table(head, body)


def calibration_text(outcome: Outcome) -> str:
    """Percentages within the cutoffs."""
    body = []
    for kind in outcome.calibration:
        orthogonal = kind.within_orthogonal
        cells = [f"{100 * kind.within_score:.2f} %", "n/a" if orthogonal is None else f"{100 * orthogonal:.2f} %"]
        name = f"{kind.samples} x {kind.features}, variances {kind.spectrum}, d = {kind.components}"
        body.append([name, f"{kind.scale:g}", *cells])
    note = (
        "Clean Gaussian data: percentage of samples within each cutoff of `steradian outliers`, mean over seeds; the "
        "nominal value is 97.5 %. n/a: the subspace spans the data.\n\n"
    )
    return note + table(["data", "scale", "within score cutoff", "within orthogonal cutoff"], body)


def flagged_text(outcome: Outcome) -> str:
    """Flags on clusters."""
    body = [[c.case, f"{100 * c.outliers:.2f} %", f"{100 * c.inliers:.2f} %"] for c in outcome.flagged]
    return "Percentage of samples with a flag other than regular, mean over seeds.\n\n" + table(
        ["case", "outliers flagged", "inliers flagged"], body
    )


def variances_text(outcome: Outcome) -> str:
    """Ratios of variances."""
    body = [
        [found.case, ", ".join(f"{ratio:.2f}" for ratio in found.ratios)]
        for found in [*outcome.clean, *outcome.outliers]
    ]
    note = (
        "Explained variance of `robust` divided by the variance of the inliers, both sorted, largest first; median "
        "over seeds.\n\n"
    )
    return note + table(["case", "estimated / true"], body)


def counted_text(outcome: Outcome) -> str:
    """Numbers of components found by -d auto."""
    body = []
    for case in outcome.counted:
        found = ", ".join(f"{d} in {case.found.count(d)}" for d in sorted(set(case.found)))
        body.append([case.case, str(case.true), found])
    return "Number of components found by `-d auto`, and in how many seeds.\n\n" + table(
        ["case", "true d", "found"], body
    )


def tables_text(outcome: Outcome) -> str:
    """Known outliers of classic data sets."""
    body = [[found.table.name, found.text] for found in outcome.tables]
    return "Samples flagged by `robust` with 2 components; rows are counted from 1.\n\n" + table(
        ["data", "known outliers"], body, words=2
    )


def timings_text(outcome: Outcome) -> str:
    """Times of robust and ae."""
    body = [[t.title, f"{t.robust:.2f}", f"{t.ae:.2f}", f"{t.ratio:.2f}x"] for t in outcome.timings]
    return "Seconds that the program reports, a thread per core.\n\n" + table(
        ["data (n x D), u8", "`robust`, s", "`ae`, s", "ratio"], body
    )


def sections(outcome: Outcome) -> list[Section]:
    """Headings and texts, in order; parts that were not run are left out."""
    angles = outcome.subspaces
    texts: list[Section] = []
    if any(case in angles.cases for case in SUMMARY):
        texts.append(("Summary", summary_text(outcome)))
    for heading, part, text in (
        ("Known outliers of classic data sets", outcome.tables, tables_text),
        ("Outliers flagged", outcome.flagged, flagged_text),
        ("Cutoffs on clean data", outcome.calibration, calibration_text),
        ("Explained variance", outcome.clean or outcome.outliers, variances_text),
        ("Number of components", outcome.counted, counted_text),
        ("Time of `robust` and `ae`", outcome.timings, timings_text),
    ):
        if part:
            texts.append((heading, text(outcome)))
    if angles.methods:
        texts += [
            ("Cases", legend_text()),
            ("Largest principal angle: median", angle_table(outcome, angles.median, MEDIAN)),
            ("Largest principal angle: 90th percentile", angle_table(outcome, angles.high, HIGH)),
        ]
    if angles.rejected:
        lines = "".join(f"- {line}\n" for line in angles.rejected)
        texts.append(("Rejected fits", f"They count as 90 degrees.\n\n{lines}"))
    return [*texts, targets_section(rows(outcome))]


def markdown(outcome: Outcome, command: str, load: float) -> str:
    """The whole page."""
    introduction = (
        f"{stamp(command, load_text(load))}\n\n"
        f"Synthetic data with a known subspace and known outliers, seeds 0 to {outcome.seeds - 1}. Methods run with "
        "their defaults and the true number of components; no option depends on the case. The seed of the data is also "
        "the `--seed` of the fit.\n"
    )
    return page("Accuracy on synthetic data", introduction, sections(outcome))
