"""The rows to reach: what must be, what we aim for, what this run shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from baselines import TITLES
from contenders import AE, TAE, Result
from outcome import Outcome
from shapes import Shape

ELSEWHERE = "see cargo bench"
AE_MUST = {"yale": 2.0, "water": 2.0, "hall": 1.8, "caviar": 1.5}
AE_AIM = 4.0
TAE_MUST = {"hall": 2.5, "caviar": 4.0}
TAE_AIM = 5.0
THREADS_MUST, THREADS_AIM = 1.7, 1.9
SLOPE, SLOPE_ROOM = 1.0, 0.1
BASELINES_MUST = {"tga": 10.0, "pcp": 3.0}
KERNELS = (
    ("fused pass of 16 columns against sgemm", "operator_u8 16", "sgemm", 0.65, 0.8, True),
    ("integer Gram against ssyrk", "integer_products", "ssyrk", 1.5, 1.9, False),
    ("TAE tile against sgemm", "cone_counts", "sgemm", 0.9, 0.97, True),
    ("mean pass against u8 read bandwidth", "mean_u8", "u8_read", 0.6, 0.9, True),
)
"""What, the micro-benchmark, the limit, must, aim, and whether it is a share."""
WIDTH = 16
"""Columns of a block that the memory row reckons with."""
MOST_BLOCKS = 12
"""Blocks of a basis that it reckons with at most."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    must: str
    aim: str
    reached: str
    verdict: str


def at_least(what: str, must: float, aim: float, reached: float | None, unit: str = "x") -> Row:
    """A row where more is better."""
    if reached is None:
        return Row(what, f"{must:g}{unit}", f"{aim:g}{unit}", "-", "not comparable")
    verdict = "aim" if reached >= aim else "must" if reached >= must else "**missed**"
    return Row(what, f"{must:g}{unit}", f"{aim:g}{unit}", f"{reached:.2f}{unit}", verdict)


def memory_limit_mb(shape: Shape, result: Result) -> float:
    """32 MB, three D x l blocks and the basis in f32; with the n x n matrix in f64 on the Gram route."""
    block = 4 * WIDTH * shape.features
    limit = (32 << 20) + 3 * block
    if result.report["solver"] == "gram":
        return (limit + 8 * shape.samples**2) / 2**20
    return (limit + min(result.report["passes"], MOST_BLOCKS) * block) / 2**20


def rows(outcome: Outcome) -> Iterator[Row]:
    """All rows, those of the micro-benchmarks by name only."""
    for name, must in AE_MUST.items():
        if shape := outcome.shape(name):
            ratio = outcome.ratio(shape, "ae")
            yield at_least(f"AE against the fastest accurate by-hand AE, {name}", must, AE_AIM, ratio)
    for name, must in TAE_MUST.items():
        if shape := outcome.shape(name):
            ratio = outcome.ratio(shape, "tae", "tae-eigh")
            yield at_least(f"TAE exact against numpy + eigh, {name}", must, TAE_AIM, ratio)
            arpack = outcome.ratio(shape, "tae", "tae-eigsh")
            if arpack is not None:
                yield Row(f"the same against numpy + eigsh, {name}", "", "", f"{arpack:.2f}x", "for information")
    yield from kernel_rows(outcome)
    yield from memory_rows(outcome)
    yield Row("TAE pivot at n = 1e6, D = 256", "60 s", "20 s", "not measured here", "")
    for case in outcome.threads:
        what = f"second thread, {case.contender.problem}, {case.shape.name}"
        yield at_least(what, THREADS_MUST, THREADS_AIM, case.ratio)
    for series in outcome.growth:
        verdict = "must" if abs(series.slope - SLOPE) <= SLOPE_ROOM else "**missed**"
        what = f"growth, krylov: slope of the time per pass in {series.letter}"
        yield Row(what, f"{SLOPE} +- {SLOPE_ROOM}", "", f"{series.slope:.2f}", verdict)
    for baseline in outcome.baselines:
        what = f"ours against {TITLES[baseline.name]}, {baseline.shape.name}"
        if must := BASELINES_MUST.get(baseline.name):
            yield at_least(what, must, must, baseline.ratio)
        else:
            yield Row(what, "", "", f"{baseline.ratio:.2f}x", "for information")
    yield bound_row(outcome)


def kernel_rows(outcome: Outcome) -> Iterator[Row]:
    """Our micro-benchmarks against what numpy reaches in the same run, on one thread and on two."""
    for what, kernel, limit, must, aim, percent in KERNELS:
        for threads in (1, 2):
            ours = outcome.kernels.get(kernel, {}).get(threads)
            theirs = outcome.limits.get(threads, {}).get(limit)
            title = f"{what}, {threads} thread{'s' * (threads > 1)}"
            if ours is None or theirs is None:
                yield Row(title, "", "", ELSEWHERE, "")
            elif percent:
                yield at_least(title, 100 * must, 100 * aim, 100 * ours / theirs / 1e9, " %")
            else:
                yield at_least(title, must, aim, ours / theirs / 1e9)


def memory_rows(outcome: Outcome) -> Iterator[Row]:
    """Peak memory above the file's pages, for each shape and method."""
    for shape in outcome.shapes:
        for contender in (AE, TAE):
            result = outcome.results[shape.name][contender.name]
            what = f"peak memory above the file's pages, {contender.problem}, {shape.name}"
            if result.failed:
                yield Row(what, "", "", "-", "failed")
                continue
            limit = memory_limit_mb(shape, result)
            verdict = "must" if result.peak_mb <= limit else "**missed**"
            yield Row(what, f"{limit:.0f} MB", "", f"{result.peak_mb:.0f} MB", verdict)


def bound_row(outcome: Outcome) -> Row:
    """The largest bound on the sine that we reported, and whether the true sine kept it."""
    ours = [r for results in outcome.results.values() for r in results.values() if r.contender.ours and not r.failed]
    if not ours:
        return Row("certified sine", "1e-06", "", "-", "failed")
    worst = max(r.report["sine_bound"] for r in ours)
    # The exact answers are themselves rounded; what they can tell ends near 1e-10.
    kept = all(r.sine <= max(r.report["sine_bound"], 1e-10) for r in ours)
    verdict = "**violated**" if not kept else "must" if worst <= 1e-6 else "**missed**"
    return Row("largest certified sine of all fits above", "1e-06", "", f"{worst:.1e}", verdict)
