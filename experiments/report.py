"""The report: the number of claims that hold, each claim with a verdict, then tables and figures."""

from __future__ import annotations

from collections import Counter

from experiments.outcome import Outcome
from measure.markdown import table
from measure.verdicts import DEPENDS, FAILS, HOLDS, SKIPPED

HEAD = """# Reproducing Liu and Yu (AAAI-21)

Written by `make paper`. Claims of the paper beside the values found here.
*holds*: reproduced. *depends on a choice*: holds under one reading or setting and not under another that the paper
leaves open. *fails*: not reproduced. *skipped*: the row names what was missing.
"""
NOTES = 12
"""Notes of one part that are printed; further ones are counted."""


def markdown(outcomes: list[Outcome], missing: list[str]) -> str:
    """The whole report; `missing` names the parts that have not been run."""
    lines = [HEAD]
    counts = Counter(row.status for o in outcomes for row in o.rows)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    lines.append(f"Total: {verdicts}; {sum(o.seconds for o in outcomes):.0f} s.\n")
    rows = [
        [o.name, row.about, row.required, row.measured, f"**{row.status}**", f"{o.seconds:.0f}"]
        for o in outcomes
        for row in o.rows
    ]
    lines.append(table(["part", "claim", "paper", "here", "verdict", "time of the part, s"], rows, words=5))
    if missing:
        lines.append(f"Not run yet: {', '.join(missing)}; `make paper ONLY={','.join(missing)}` runs them.\n")
    for verdict in (HOLDS, DEPENDS, FAILS, SKIPPED):
        claims = [f"{row.about} ({o.name})" for o in outcomes for row in o.rows if row.status == verdict]
        if claims:
            lines.append(f"**{verdict}**: {'; '.join(claims)}.\n")
    for outcome in outcomes:
        stamp = [f"{outcome.stamp}\n"] if outcome.stamp else []
        lines += [f"## {outcome.title}\n", *stamp, *(f"{t.strip()}\n" for t in outcome.tables)]
        for figure in outcome.figures:
            if figure.parts[0] == "real":
                lines.append(f"`{figure}` shows real data, which are not published.\n")
            else:
                lines.append(f"![{figure.stem}]({figure})\n")
        notes = list(dict.fromkeys(outcome.notes))
        lines += [f"- {note}" for note in notes[:NOTES]]
        if len(notes) > NOTES:
            lines.append(f"- and {len(notes) - NOTES} more notes of this kind")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
