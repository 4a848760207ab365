"""The rows of the table of targets."""

from __future__ import annotations

from collections.abc import Iterator

from measure.matrices import Shape
from measure.program import value
from measure.rows import Row
from measure.speed.competitors import AE, TAE, Result
from measure.speed.outcome import Outcome
from measure.targets import group, target
from measure.verdicts import NOT_COMPARABLE

KERNELS = {
    "operator": ("operator_u8 16", "sgemm"),
    "gram": ("integer_products", "ssyrk"),
    "cone": ("cone_counts", "sgemm"),
    "mean": ("mean_u8", "u8_read"),
}
"""Targets of micro-benchmarks: the benchmark, and the limit of the machine that it is compared with."""
EXACT_LIMIT = 1e-10
"""The accuracy of the exact components; smaller sines cannot be measured."""


def rows(outcome: Outcome) -> list[Row]:
    """All rows."""
    return [
        *speedup_rows(outcome),
        *kernel_rows(outcome),
        *memory_rows(outcome),
        *thread_rows(outcome),
        *growth_rows(outcome),
        *baseline_rows(outcome),
        *bound_rows(outcome),
    ]


def speedup_rows(outcome: Outcome) -> Iterator[Row]:
    """Speedups of AE over the fastest accurate implementation, and of TAE over that with eigh."""
    for problem, other in (("ae", None), ("tae", "tae-eigh")):
        for family, goal in group(f"speed.{problem}").items():
            shape = outcome.shape(family)
            if shape is None:
                yield goal.row(None)
            else:
                yield goal.row(outcome.ratio(shape, problem, other), absent=NOT_COMPARABLE)


def kernel_rows(outcome: Outcome) -> Iterator[Row]:
    """Micro-benchmarks relative to what NumPy reaches in the same run."""
    for name, (kernel, limit) in KERNELS.items():
        for count in (1, 2):
            goal = target(f"speed.kernels.{name}").named(threads=f"{count} thread{'s' * (count > 1)}")
            ours = outcome.kernels.get(kernel, {}).get(count)
            reachable = outcome.limits.get(count, {}).get(limit)
            if ours is None or reachable is None:
                yield goal.row(None)
            else:
                ratio = ours / reachable / 1e9
                yield goal.row(100 * ratio if "%" in goal.unit else ratio)


def memory_limit_mib(shape: Shape, result: Result) -> float:
    """The required peak memory: a base, some D x l blocks and the basis in f32, or the n x n matrix in f64."""
    numbers = target("speed.memory").parameters
    block = 4 * numbers["block_columns"] * shape.features / 2**20
    limit = numbers["base_mib"] + numbers["blocks"] * block
    if value(result.report, "solver") == "gram":
        return float(limit + 8 * shape.samples**2 / 2**20)
    return float(limit + min(value(result.report, "passes"), numbers["max_basis_blocks"]) * block)


def memory_rows(outcome: Outcome) -> Iterator[Row]:
    """Peak anonymous memory of AE and TAE on each matrix."""
    for shape in outcome.shapes:
        for competitor in (AE, TAE):
            result = outcome.results[shape.name][competitor.name]
            goal = target("speed.memory").named(method=competitor.problem, case=shape.name)
            if result.failed:
                yield goal.row(None, absent="failed")
            else:
                limit = round(memory_limit_mib(shape, result))
                yield goal.requiring(limit).row(result.peak_mib, f"{result.peak_mib:.0f} MiB")


def thread_rows(outcome: Outcome) -> Iterator[Row]:
    """Speedups by the second thread."""
    goal = target("speed.threads")
    for case in outcome.threads:
        yield goal.named(method=case.competitor.problem, case=case.shape.name).row(case.ratio)
    if not outcome.threads:
        yield goal.named(method="ae and tae", case="hall and caviar").row(None)


def growth_rows(outcome: Outcome) -> Iterator[Row]:
    """Slopes of the time per pass."""
    goal = target("speed.growth")
    slopes = {series.letter: series.slope for series in outcome.growth}
    for letter in ("n", "D"):
        yield goal.named(letter=letter).row(slopes.get(letter))


def baseline_rows(outcome: Outcome) -> Iterator[Row]:
    """Speedups of the baselines."""
    ratios = {baseline.name: baseline for baseline in outcome.baselines}
    for name, goal in group("speed.baselines").items():
        found = ratios.get(name)
        yield goal.named(case=found.shape.name if found else "water").row(found.ratio if found else None)


def bound_rows(outcome: Outcome) -> Iterator[Row]:
    """The largest reported bound on the sine, and whether the true sine is within it."""
    ours = [r for results in outcome.results.values() for r in results.values() if r.competitor.ours and not r.failed]
    bound, holds = target("speed.sine_bound"), target("speed.sine_holds")
    if not ours:
        yield from (bound.row(None), holds.row(None))
        return
    worst = max(r.sine_bound for r in ours)
    yield bound.row(worst, f"{worst:.1e}")
    within = [r.sine is not None and r.sine <= max(r.sine_bound, EXACT_LIMIT) for r in ours]
    yield holds.row(all(within), f"{sum(within)} of {len(within)}")
