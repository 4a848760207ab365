"""Markdown: tables, sections, pages and the section of targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from measure.rows import HEAD, Row, count_missed
from measure.verdicts import NOT_COMPARABLE, NOT_RUN

Section = tuple[str, str]
"""A heading and a text."""


def table(head: Sequence[str], body: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table whose first `words` columns hold text and are left-aligned; the others are right-aligned."""
    rule = ["---" if column < words else "---:" for column in range(len(head))]
    lines = [head, rule, *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page(title: str, introduction: str, sections: Iterable[Section]) -> str:
    """A page with a title, an introduction and sections of the second level."""
    return f"# {title}\n\n{introduction.strip()}\n" + "".join(
        f"\n## {heading}\n\n{text.strip()}\n" for heading, text in sections
    )


def targets_text(rows: Sequence[Row]) -> str:
    """The number of missed targets, and all rows."""
    absent = sum(row.status in (NOT_RUN, NOT_COMPARABLE) for row in rows)
    rest = f" {absent} not measured." if absent else ""
    summary = f"{count_missed(rows)} of {len(rows)} missed.{rest} Values are set in `measure/targets.toml`."
    return f"{summary}\n\n" + table(HEAD, (row.cells for row in rows))


def targets_section(rows: Sequence[Row]) -> Section:
    """The section of targets, which ends a report."""
    return "Targets", targets_text(rows)


def sections_of(document: str) -> dict[str, str]:
    """The sections of a page by their heading."""
    pieces = document.split("\n## ")[1:]
    return {heading.strip(): text.strip() for heading, _, text in (piece.partition("\n") for piece in pieces)}


def digits(x: float | None) -> str:
    """A number with three significant digits; a dash for None, NaN and infinity."""
    if x is None or not abs(x) < float("inf"):
        return "-"
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"
