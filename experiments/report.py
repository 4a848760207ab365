"""The report: every claim with the paper's value, ours and a verdict, then the tables and figures."""

from __future__ import annotations

from collections import Counter

from outcome import DEPENDS, FAILS, HOLDS, SKIPPED, Outcome, table

HEAD = """# The paper, made again

Written by `make paper`. Each line sets a claim of the paper beside what came out here. *holds*: it came out here too.
*depends on a choice*: it holds under one reading or setting and not under another that the paper leaves open.
*fails*: it did not come out. *skipped*: the line says what was missing.
"""
NOTES = 12
"""Notes of one part that are printed; more of one kind are counted."""


def markdown(outcomes: list[Outcome], missing: list[str]) -> str:
    """The whole report, and which parts of it have not been run."""
    lines = [HEAD]
    rows = [
        [o.name, line.what, line.paper, line.ours, f"**{line.verdict}**", f"{o.seconds:.0f}"]
        for o in outcomes
        for line in o.lines
    ]
    lines.append(table(["part", "claim", "paper", "here", "verdict", "seconds of the part"], rows))
    counts = Counter(line.verdict for o in outcomes for line in o.lines)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    lines.append(f"\nIn all: {verdicts}; {sum(o.seconds for o in outcomes):.0f} seconds.\n")
    if missing:
        lines.append(f"Not run yet: {', '.join(missing)}; `make paper ONLY={','.join(missing)}` runs them.\n")
    for verdict in (HOLDS, DEPENDS, FAILS, SKIPPED):
        claims = [f"{line.what} ({o.name})" for o in outcomes for line in o.lines if line.verdict == verdict]
        if claims:
            lines.append(f"**{verdict}**: {'; '.join(claims)}.\n")
    for outcome in outcomes:
        lines += [f"## {outcome.title}\n", *(f"{t}\n" for t in outcome.tables)]
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
