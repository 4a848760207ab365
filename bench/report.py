"""The outcome of a run as markdown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from math import isfinite

from baselines import TITLES as BASELINES
from contenders import ACCURATE, AE, CERTIFIED, TAE, TITLES, Result  # finds the folder of scripts
from markdown import machine, table
from outcome import Outcome
from reach import rows

REACH_HEAD = ["", "must", "aim", "this run", "met"]
QUIET = 0.5
"""Up to this load average the machine counts as idle."""


def digits(x: float | None) -> str:
    """Three significant digits."""
    if x is None or not isfinite(x):
        return "-"
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


def by_shape(outcome: Outcome, names: list[str], cell: Callable[[Result], str]) -> str:
    """A table with a line for each contender and a column for each shape."""
    body = []
    for name in names:
        results = [outcome.results[shape.name].get(name) for shape in outcome.shapes]
        body.append([TITLES.get(name, name)] + ["-" if r is None or r.failed else cell(r) for r in results])
    return table(["", *(shape.title for shape in outcome.shapes)], body)


def seconds_cell(result: Result) -> str:
    """From opening the file to the components; for ours also the wall time, for inaccurate answers a mark."""
    mark = "" if result.counts or result.contender.problem == "pca" else " \\*"
    if result.own_seconds is None:
        return digits(result.seconds) + mark
    return f"{digits(result.own_seconds)} ({digits(result.seconds)})" + mark


def sine_cell(result: Result) -> str:
    """The true sine; for ours also the bound that the program reports."""
    if result.sine is None:
        return "-"
    bound = f" (bound {result.report['sine_bound']:.0e})" if result.contender.ours else ""
    return f"{result.sine:.0e}" + bound


def ratio_table(outcome: Outcome, problem: str) -> str:
    """Ours against the fastest accurate peer."""
    body = []
    for shape in outcome.shapes:
        ours = outcome.results[shape.name][(AE if problem == "ae" else TAE).name]
        peer = outcome.fastest_peer(shape, problem)
        name, seconds = (TITLES[peer.contender.name], peer.seconds) if peer else ("none is accurate", None)
        ratio = outcome.ratio(shape, problem)
        times = "-" if ratio is None else f"{ratio:.2f}x"
        body.append(
            [shape.title, name, digits(seconds), digits(ours.own_seconds), ours.report.get("solver", "-"), times]
        )
    return table(["", "fastest accurate peer", "its seconds", "ours", "our solver", "ratio"], body)


def sections(outcome: Outcome) -> list[tuple[str, str]]:
    """Titles and texts, in order; empty ones are left out."""
    names = outcome.contender_names()
    forced = [n for n in names if n.endswith((" gram", " krylov"))]
    plain = [AE.name, TAE.name] + [name for name in TITLES if name in names]
    least = f"The least of {outcome.rounds} round{'s' * (outcome.rounds > 1)}. "
    texts = [
        ("To reach", table(REACH_HEAD, [list(vars(row).values()) for row in rows(outcome)])),
        (
            "Seconds",
            least
            + "Both: from before the file is opened until the components are there. Imports of peers, the start of "
            "our process and the writing of our model are not counted; the wall time of our whole process is in brackets. "
            f"\\* not accurate: sine above {ACCURATE:g} (peers), bound above {CERTIFIED:g} (ours).\n\n"
            + by_shape(outcome, plain, seconds_cell),
        ),
        (
            "Peak resident memory, MB",
            "Ours: above the pages of the mapped file. Peers: all of the process, libraries included. "
            "MB are 2^20 bytes.\n\n" + by_shape(outcome, plain, lambda result: f"{result.peak_mb:.0f}"),
        ),
        (
            "Sine of the largest angle to the exact subspace",
            "The exact one is found in f64 through the n x n matrix. "
            "Some peers start at random: the median of the rounds.\n\n" + by_shape(outcome, plain, sine_cell),
        ),
        ("AE against the fastest accurate peer", ratio_table(outcome, "ae")),
        ("TAE against the fastest accurate peer", ratio_table(outcome, "tae")),
    ]
    if forced:
        note = "Seconds, as above, with the solver set.\n\n"
        text = note + by_shape(outcome, [AE.name, TAE.name, *forced], seconds_cell)
        texts.append(("Solvers on the four shapes", text))
    if outcome.choices:
        texts.append(("Where each solver wins", choices_text(outcome)))
    if outcome.baselines:
        texts.append(("Baselines beside numpy", baselines_text(outcome)))
    if outcome.limits:
        texts.append(("Limits of the machine in the same run", limits_text(outcome)))
    if outcome.growth:
        texts.append(("Growth", growth_text(outcome)))
    if outcome.threads:
        texts.append(("One thread against two", threads_text(outcome)))
    return texts


def baselines_text(outcome: Outcome) -> str:
    """Seconds and steps of the methods of others, ours and by hand."""
    body = [
        [
            BASELINES[b.name],
            b.shape.title,
            digits(b.peer),
            str(b.peer_steps),
            digits(b.ours),
            str(b.our_steps),
            f"{b.ratio:.1f}x",
        ]
        for b in outcome.baselines
    ]
    note = "To the same tolerance: 1e-4 in every coordinate (TGA), a residual of 1e-7 (PCP).\n\n"
    return note + table(["by hand", "", "its seconds", "its steps", "ours", "our steps", "ratio"], body)


def choices_text(outcome: Outcome) -> str:
    """Seconds of each solver where sizes move."""
    solvers = ("gram", "scatter", "krylov", "auto")
    body = []
    for choice in outcome.choices:
        best = min(seconds for solver, seconds in choice.seconds.items() if solver != "auto")
        winner = next(solver for solver, seconds in choice.seconds.items() if seconds == best)
        cells = [digits(choice.seconds.get(solver)) for solver in solvers]
        body.append([f"{choice.shape.samples} x {choice.shape.features}", *cells, winner, choice.auto])
    note = "AE, d = 5; seconds that the program reports.\n\n"
    return note + table(["n x D", *solvers, "fastest", "auto takes"], body)


def limits_text(outcome: Outcome) -> str:
    """What numpy reaches; the kernels' shares are elsewhere."""
    titles = {
        "sgemm": "sgemm, 2048 x 2048, GF/s",
        "ssyrk": "ssyrk, U U' of 2048 x 8192, GF/s",
        "u8_read": "u8 read, GB/s",
    }
    counts = sorted(outcome.limits)
    body = [[title] + [digits(outcome.limits[c][key]) for c in counts] for key, title in titles.items()]
    note = "\nWhat our kernels reach of these: `cargo bench`. A fit does not report its flops.\n"
    return table(["numpy", *(f"{c} thread{'s' * (c > 1)}" for c in counts)], body) + note


def growth_text(outcome: Outcome) -> str:
    """Time per pass at doubling sizes."""
    body = []
    for series in outcome.growth:
        for shape, seconds, passes, each in zip(series.shapes, series.seconds, series.passes, series.per_pass):
            body.append([f"{shape.samples} x {shape.features}", digits(seconds), str(passes), digits(1e3 * each)])
        body.append([f"slope in {series.letter}", "", "", f"{series.slope:.2f}"])
    note = "AE by the krylov solver, d = 5; seconds that the program reports, divided by its passes over the data.\n\n"
    return note + table(["n x D", "seconds", "passes", "ms per pass"], body)


def threads_text(outcome: Outcome) -> str:
    """The gain of the second thread."""
    body = [
        [f"{case.contender.problem}, {case.shape.title}", digits(case.one), digits(case.two), f"{case.ratio:.2f}x"]
        for case in outcome.threads
    ]
    return "Seconds that the program reports.\n\n" + table(["", "1 thread", "2 threads", "ratio"], body)


def markdown(outcome: Outcome, command: str, load: float) -> str:
    """The whole document."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    noise = " (noisy: something else was running)" if load > QUIET else ""
    head = (
        f"# Benchmarks\n\nMade by `{command}` on {date.today()}; do not edit. {machine()}; {versions}; "
        f"load average at the start {load:.1f}{noise}.\n\n"
        "Each measurement is a fresh process. The contenders of a shape alternate within a round. Files are u8 `.npy` "
        "in the page cache; reading them is counted. d = 5, on yale 9; tolerance 1e-6; TAE at 60 degrees, on yale 85. "
        "Times differ from machine to machine: compare only within one run.\n"
    )
    return head + "".join(f"\n## {title}\n\n{text}" for title, text in sections(outcome))
