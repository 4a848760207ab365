"""Targets, read from targets.toml: each with a required value, perhaps a goal, and what it is about."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from measure.paths import PACKAGE
from measure.rows import Row
from measure.verdicts import NOT_RUN, Bound, Measured, satisfies, status

FILE = PACKAGE / "targets.toml"


@dataclass(frozen=True)
class Target:
    """A value to reach; `about` may have placeholders in braces."""

    about: str
    required: Bound
    goal: Bound = None
    unit: str = ""
    lower_is_better: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict)
    """Numbers from which the required value is computed, if it depends on the case."""

    def named(self, **names: object) -> Target:
        """The target with the placeholders of `about` filled in."""
        return replace(self, about=self.about.format(**names))

    def requiring(self, required: float, goal: float | None = None) -> Target:
        """The target with a required value that was computed from its parameters."""
        return replace(self, required=required, goal=self.goal if goal is None else goal)

    def row(
        self,
        measured: Measured | None,
        shown: str = "",
        *,
        goal_met: bool | None = None,
        absent: str = NOT_RUN,
    ) -> Row:
        """The row of a table; `shown` is printed in place of the number.

        `absent` is the status where nothing was measured. `goal_met` says whether a goal in words was met.
        """
        if "{" in self.about:
            raise ValueError(f"{self.about}: the placeholders are not filled in")
        required, goal = (bound_text(bound, self.unit) for bound in (self.required, self.goal))
        if measured is None:
            return Row(self.about, required, goal, "-", absent)
        if goal_met is None and self.goal is not None:
            goal_met = satisfies(measured, self.goal, self.lower_is_better)
        met = None if self.required is None else satisfies(measured, self.required, self.lower_is_better)
        found = status(met, goal_met)
        return Row(self.about, required, goal, shown or measured_text(measured, self.unit), found)


def bound_text(bound: Bound, unit: str) -> str:
    """A bound with its unit."""
    if bound is None:
        return ""
    if isinstance(bound, str):
        return bound
    if isinstance(bound, tuple):
        return f"{bound[0]:g} to {bound[1]:g}{unit}"
    return f"{bound:g}{unit}"


def measured_text(measured: Measured, unit: str) -> str:
    """A measured value with its unit."""
    if isinstance(measured, tuple):
        return f"{min(measured):.2f} to {max(measured):.2f}{unit}"
    if isinstance(measured, bool):
        return "yes" if measured else "no"
    return f"{measured:.2f}{unit}"


KEYS = {"about", "required", "goal", "unit", "lower_is_better", "parameters"}


def parse(name: str, entry: Mapping[str, Any]) -> Target:
    """A target from its table in the file."""
    if unknown := entry.keys() - KEYS:
        raise ValueError(f"target {name}: unknown keys {', '.join(sorted(unknown))}")
    if "required" not in entry and "goal" not in entry and "parameters" not in entry:
        raise ValueError(f"target {name}: neither required, goal nor parameters")
    bounds: dict[str, Any] = {key: bound(entry.get(key)) for key in ("required", "goal")}
    return Target(**{**entry, **bounds})


def bound(content: Any) -> Bound:
    """A bound from its value in the file: numbers as floats, intervals as pairs."""
    if isinstance(content, list):
        low, high = content
        return float(low), float(high)
    return content if content is None or isinstance(content, str) else float(content)


@cache
def all_targets() -> dict[str, Target]:
    """All targets by their dotted name."""
    found: dict[str, Target] = {}

    def walk(prefix: str, table: Mapping[str, Any]) -> None:
        for key, value in table.items():
            name = f"{prefix}{key}"
            if "about" in value:
                found[name] = parse(name, value)
            else:
                walk(f"{name}.", value)

    walk("", tomllib.loads(FILE.read_text()))
    return found


def target(name: str) -> Target:
    """The target with a dotted name, such as speed.ae.yale."""
    return all_targets()[name]


def group(name: str) -> dict[str, Target]:
    """The targets below a dotted name, by the rest of their names."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in all_targets().items() if key.startswith(prefix)}
