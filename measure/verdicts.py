"""Statuses of measured values with respect to a required value and a goal, and of claims that were reproduced."""

from __future__ import annotations

from typing import TypeAlias

MET = "met"
GOAL_MET = "goal met"
MISSED = "**missed**"
GOAL_MISSED = "goal missed"
NOT_RUN = "not run"
NOT_COMPARABLE = "not comparable"

HOLDS = "holds"
DEPENDS = "depends on a choice"
FAILS = "fails"
SKIPPED = "skipped"

Bound: TypeAlias = float | tuple[float, float] | str | None
"""A limit, an interval, a condition in words, or nothing."""
Measured: TypeAlias = float | bool | tuple[float, ...]
"""A value, whether a condition in words holds, or several values that must all satisfy the bound."""


def satisfies(measured: Measured, bound: Bound, lower_is_better: bool = False) -> bool:
    """Whether a measured value satisfies a bound; a NaN satisfies none."""
    if bound is None:
        return True
    if isinstance(measured, tuple):
        return all(satisfies(value, bound, lower_is_better) for value in measured)
    if isinstance(bound, str) or isinstance(measured, bool):
        if not (isinstance(bound, str) and isinstance(measured, bool)):
            raise TypeError(f"{measured!r} cannot be compared with {bound!r}")
        return measured
    if isinstance(bound, tuple):
        return bound[0] <= measured <= bound[1]
    return measured <= bound if lower_is_better else measured >= bound


def status(required_met: bool | None, goal_met: bool | None) -> str:
    """The status in words; an argument is None for a target without a required value or without a goal."""
    if required_met is None:
        return GOAL_MET if goal_met else GOAL_MISSED
    if not required_met:
        return MISSED
    return GOAL_MET if goal_met else MET
