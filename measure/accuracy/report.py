"""The report of a run as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from measure.accuracy import angle_tables
from measure.accuracy.cases import LEGEND
from measure.accuracy.clean_data import Flagged
from measure.accuracy.outcome import Outcome
from measure.accuracy.rows import rows, seeds_text
from measure.machine import load_text, stamp
from measure.markdown import Section, page, table, targets_section


def percent(fraction: float) -> str:
    """A percentage with one decimal; a dash if a fit was rejected."""
    return "-" if math.isnan(fraction) else f"{100 * fraction:.1f} %"


def legend_text() -> str:
    """The meaning of the names of cases."""
    body = [[kind, numbers, size, text] for kind, (numbers, size, text) in LEGEND.items()]
    note = (
        "A case is named by its kind and its parameters: clu_0.3_15_3 is a cluster of 30 % of the samples at distance "
        "15, with d = 3.\n\n"
    )
    return note + table(["kind", "parameters", "n x D", "contamination"], body, words=4)


def tables_text(outcome: Outcome) -> str:
    """Known outliers of classic data sets."""
    body = [[found.table.name, f"d = {found.table.components}", found.text] for found in outcome.tables]
    note = (
        "`robust` on all columns; samples are flagged by the cutoffs of the fit's own samples and counted from 1. The "
        "support is exact if it has all samples but the known outliers.\n\n"
    )
    return note + table(["data", "components", "known outliers"], body, words=3)


def used_text(outcome: Outcome) -> str:
    """Rows with missing cells."""
    body = [[found.name, found.text] for found in outcome.used]
    note = (
        '`robust` with `scaling="mad"`. dposs-like is a generated table of 2000 rows like the star catalog dposs: '
        "seven groups of three features, of which a row may miss several.\n\n"
    )
    return note + table(["data", "rows with distances"], body, words=2)


def clean_data_text(outcome: Outcome) -> str:
    """Percentages beyond the cutoffs."""

    def line(found: Flagged) -> list[str]:
        name = found.population.name + (", `skew=True`" if found.skew else "")
        pairs = (found.score, found.orthogonal, found.rows)
        return [name, *(percent(fraction) for pair in pairs for fraction in pair)]

    head = ["data", "score, own", "score, new", "orthogonal, own", "orthogonal, new", "any, own", "any, new"]
    note = (
        "Data without outliers: percentage of samples beyond the score cutoff, beyond the orthogonal cutoff, and "
        "beyond either, mean over seeds, a dash if a fit was rejected; nominal is 2.5 % for each cutoff. "
        "Own: the samples of the fit, with their cutoffs; new: further samples of the same distribution, with the "
        "cutoffs for new samples.\n\n"
    )
    return note + table(head, map(line, outcome.clean_data))


def cells_text(outcome: Outcome) -> str:
    """Flags of cells, filled cells, reconstructions."""
    texts = []
    if outcome.bad_cells:
        body = [[found.case, percent(found.bad), percent(found.good)] for found in outcome.bad_cells]
        texts.append(table(["case", "bad cells flagged", "good cells flagged"], body))
    if outcome.filled:
        body = [[found.case, f"{found.error:.2f}x"] for found in outcome.filled]
        texts.append(
            "Error of filled cells (root mean square, relative to the standard deviation of the noise) in clean data "
            "with 20 % missing cells. The true subspace would give a few percent more than 1: scores have errors.\n\n"
            + table(["case", "error"], body)
        )
    if found := outcome.reconstructed:
        texts.append(
            "Reconstructions of cell_0.1: mean squared error that the bad cells add to the good cells, relative to the "
            f"variance of the noise: {found.robust:.3f}; with orthogonal projection onto the same subspace it would be "
            f"{found.projected:.0f}.\n"
        )
    return "\n".join(texts)


def flagged_text(outcome: Outcome) -> str:
    """Flags on clusters."""
    body = [[c.case, percent(c.outliers), percent(c.inliers)] for c in outcome.flagged]
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


def timings_text(outcome: Outcome) -> str:
    """Times of robust, ae and a former build."""
    names = list(dict.fromkeys(name for timing in outcome.timings for name in timing.seconds))
    body = []
    for timing in outcome.timings:
        seconds = [f"{timing.seconds[name]:.2f}" if name in timing.seconds else "-" for name in names]
        ratios = [f"{ratio:.2f}x" if (ratio := timing.ratio(name)) else "-" for name in names[1:]]
        body.append([timing.title, *seconds, *ratios, str(timing.rounds), str(timing.passes)])
    head = ["data (n x D)", *(f"`{name}`, s" for name in names), *(f"ratio to `{name}`" for name in names[1:])]
    head += ["passes before the final eigenproblem", "all passes"]
    note = "Seconds that the program reports, a thread per core; `former` is `robust` of another build.\n\n"
    return note + table(head, body)


SECTIONS: Sequence[tuple[str, Callable[[Outcome], object], Callable[[Outcome], str]]] = (
    ("Known outliers of classic data sets", lambda outcome: outcome.tables, tables_text),
    ("Rows with missing cells", lambda outcome: outcome.used, used_text),
    ("Flags on data without outliers", lambda outcome: outcome.clean_data, clean_data_text),
    ("Bad and missing cells", lambda outcome: outcome.bad_cells or outcome.filled, cells_text),
    ("Outliers flagged", lambda outcome: outcome.flagged, flagged_text),
    ("Explained variance", lambda outcome: outcome.clean or outcome.outliers, variances_text),
    ("Number of components", lambda outcome: outcome.counted, counted_text),
    ("Time and passes", lambda outcome: outcome.timings, timings_text),
)
"""Headings, the results that a section needs, and its text."""


def sections(outcome: Outcome) -> Iterable[Section]:
    """Headings and texts, in order; parts that were not run are left out."""
    angles = outcome.subspaces
    if angles.methods:
        yield "Summary", angle_tables.summary(angles, outcome.same_seeds)
    for heading, results, text in SECTIONS:
        if results(outcome):
            yield heading, text(outcome)
    if angles.methods:
        yield "Cases", legend_text()
        yield from angle_tables.sections(angles, outcome.same_seeds)
    if angles.rejected:
        lines = "".join(f"- {line}\n" for line in angles.rejected)
        yield "Rejected fits", f"They count as 90 degrees.\n\n{lines}"
    yield targets_section(rows(outcome))


def markdown(outcome: Outcome, command: str, load: float) -> str:
    """The whole page."""
    introduction = (
        f"{stamp(command, load_text(load))}\n\n"
        "Synthetic data with a known subspace, known outliers and known bad cells; "
        f"{seeds_text(outcome.known_seeds)} of 36 cases with bad rows or bad cells, {seeds_text(outcome.new_seeds)} of "
        "60 further cases and of cases with missing cells. Methods run with their defaults and the true number of "
        "components; no option depends on the case. The seed of the data is also the seed of the fit.\n"
    )
    return page("Accuracy on synthetic data", introduction, sections(outcome))
