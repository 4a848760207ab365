"""The report of a run as Markdown."""

from __future__ import annotations

from collections.abc import Callable

from measure.machine import load_text, stamp, versions
from measure.markdown import Section, digits, page, table, targets_section
from measure.speed.baselines import TITLES as BASELINES
from measure.speed.competitors import ACCURATE, AE, CERTIFIED, TAE, TITLES, Result
from measure.speed.outcome import Outcome
from measure.speed.rows import rows

METHODS = {"ae": "AE", "tae": "TAE"}


def runs_text(outcome: Outcome) -> str:
    """The number of runs in words."""
    return "One run." if outcome.runs == 1 else f"Minimum of {outcome.runs} runs."


def summary_text(outcome: Outcome) -> str:
    """Steradian beside the fastest NumPy implementation of the same accuracy, and beside classical PCA."""
    body = []
    for shape in outcome.shapes:
        pca = outcome.results[shape.name].get("pca-randomized")
        for problem, name in METHODS.items():
            ours, other = outcome.ours(shape, problem), outcome.fastest_other(shape, problem)
            ratio = outcome.ratio(shape, problem)
            body.append(
                [
                    f"{shape.title}, d = {shape.components}",
                    name,
                    TITLES[other.competitor.name] if other else "none is accurate",
                    digits(ours.seconds),
                    digits(other.seconds if other else None),
                    "-" if ratio is None else f"{ratio:.2f}x",
                    f"{ours.peak_mib:.0f}",
                    f"{other.peak_mib:.0f}" if other else "-",
                    digits(pca.seconds if pca and not pca.failed else None),
                ]
            )
    head = [
        "data (n x D)",
        "method",
        "compared with",
        "steradian, s",
        "NumPy, s",
        "speedup",
        "steradian, MiB",
        "NumPy, MiB",
        "scikit-learn PCA, s",
    ]
    note = (
        f"Fits of u8 `.npy` files in the page cache by steradian and by the fastest NumPy implementation of the same "
        f"method whose result is accurate (sine of the largest principal angle to the exact subspace at most "
        f"{ACCURATE:g}). {runs_text(outcome)} Time is measured from opening the file to the components. Memory is the "
        "peak: for steradian anonymous memory (without the pages of the mapped file), for NumPy that of the whole "
        "process. scikit-learn PCA solves another problem (classical PCA, randomized solver); its time is given for "
        "scale.\n\n"
    )
    return note + table(head, body, words=3)


def by_shape(outcome: Outcome, names: list[str], cell: Callable[[Result], str]) -> str:
    """A table with a row for each competitor and a column for each matrix."""
    body = []
    for name in names:
        results = [outcome.results[shape.name].get(name) for shape in outcome.shapes]
        body.append([TITLES.get(name, name)] + ["-" if r is None or r.failed else cell(r) for r in results])
    return table(["", *(shape.title for shape in outcome.shapes)], body)


def seconds_cell(result: Result) -> str:
    """The time, for steradian with the wall time of the process, and a mark for an inaccurate result."""
    mark = "" if result.accurate or result.competitor.problem == "pca" else " \\*"
    wall = "" if result.wall_seconds is None else f" ({digits(result.wall_seconds)})"
    return digits(result.seconds) + wall + mark


def sine_cell(result: Result) -> str:
    """The true sine, for steradian with the bound that it reports."""
    if result.sine is None:
        return "-"
    bound = f" (bound {result.sine_bound:.0e})" if result.competitor.ours else ""
    return f"{result.sine:.0e}" + bound


def sections(outcome: Outcome) -> list[Section]:
    """Headings and texts, in order; parts that were not run are left out."""
    names = outcome.names()
    forced = [n for n in names if n.endswith((" gram", " krylov"))]
    plain = [AE.name, TAE.name] + [name for name in TITLES if name in names]
    time_note = (
        f"Seconds. {runs_text(outcome)} From opening the file to the components. Imports of Python modules, the start "
        "of the process of steradian and the writing of its model file are not included; the wall time of its whole "
        f"process is in parentheses. \\* not accurate: sine above {ACCURATE:g}, or for steradian sine_bound above "
        f"{CERTIFIED:g}.\n\n"
    )
    memory_note = (
        "MiB. steradian: anonymous memory, without the pages of the mapped file. Others: the whole process, libraries "
        "included.\n\n"
    )
    sine_note = (
        "The exact subspace is computed in f64 through the n x n matrix. The median over the runs, since some "
        "implementations start at random.\n\n"
    )
    texts = [
        ("Summary", summary_text(outcome)),
        ("Time", time_note + by_shape(outcome, plain, seconds_cell)),
        ("Peak memory", memory_note + by_shape(outcome, plain, lambda result: f"{result.peak_mib:.0f}")),
        (
            "Sine of the largest principal angle to the exact subspace",
            sine_note + by_shape(outcome, plain, sine_cell),
        ),
    ]
    if forced:
        text = "Seconds, as above, with a given solver.\n\n"
        texts.append(
            ("Solvers on the four matrices", text + by_shape(outcome, [AE.name, TAE.name, *forced], seconds_cell))
        )
    for heading, part, text_of in (
        ("Fastest solver by shape", outcome.choices, choices_text),
        ("Baselines", outcome.baselines, baselines_text),
        ("Throughput of the machine", outcome.limits, limits_text),
        ("Growth with n and D", outcome.growth, growth_text),
        ("One thread and two", outcome.threads, threads_text),
    ):
        if part:
            texts.append((heading, text_of(outcome)))
    return [*texts, targets_section(rows(outcome))]


def baselines_text(outcome: Outcome) -> str:
    """Seconds and steps of the baselines."""
    body = [
        [
            BASELINES[b.name],
            b.shape.title,
            digits(b.seconds),
            str(b.steps),
            digits(b.numpy_seconds),
            str(b.numpy_steps),
            f"{b.ratio:.1f}x",
        ]
        for b in outcome.baselines
    ]
    note = (
        "Both to the same tolerance: 1e-4 in every coordinate (TGA), a residual of 1e-7 (PCP). NumPy is run once.\n\n"
    )
    head = ["compared with", "data", "steradian, s", "its steps", "NumPy, s", "its steps", "speedup"]
    return note + table(head, body, words=2)


def choices_text(outcome: Outcome) -> str:
    """Seconds of each solver for growing sizes."""
    solvers = ("gram", "scatter", "krylov", "auto")
    body = []
    for choice in outcome.choices:
        single = {solver: seconds for solver, seconds in choice.seconds.items() if solver != "auto"}
        cells = [digits(choice.seconds.get(solver)) for solver in solvers]
        fastest = min(single, key=lambda solver: single[solver])
        body.append([f"{choice.shape.samples} x {choice.shape.features}", *cells, fastest, choice.auto])
    return "AE, d = 5; seconds that the program reports.\n\n" + table(
        ["n x D", *solvers, "fastest", "selected by auto"], body
    )


def limits_text(outcome: Outcome) -> str:
    """Throughput of NumPy on this machine."""
    titles = {
        "sgemm": "sgemm, 2048 x 2048, GFLOP/s",
        "ssyrk": "ssyrk, U U' of 2048 x 8192, GFLOP/s",
        "u8_read": "reading u8, GB/s",
    }
    counts = sorted(outcome.limits)
    body = [[title] + [digits(outcome.limits[c][key]) for c in counts] for key, title in titles.items()]
    head = ["NumPy", *(f"{c} thread{'s' * (c > 1)}" for c in counts)]
    return table(head, body) + "\nThroughput of the kernels of steradian: `cargo bench`.\n"


def growth_text(outcome: Outcome) -> str:
    """Time per pass at doubling sizes."""
    body = []
    for series in outcome.growth:
        for shape, seconds, passes, each in zip(
            series.shapes, series.seconds, series.passes, series.per_pass, strict=True
        ):
            body.append([f"{shape.samples} x {shape.features}", digits(seconds), str(passes), digits(1e3 * each)])
        body.append([f"slope of log time on log {series.letter}", "", "", f"{series.slope:.2f}"])
    note = "AE by the krylov solver, d = 5; seconds that the program reports, divided by its passes over the data.\n\n"
    return note + table(["n x D", "s", "passes", "ms per pass"], body)


def threads_text(outcome: Outcome) -> str:
    """The speedup by the second thread."""
    body = [
        [f"{case.competitor.problem}, {case.shape.title}", digits(case.one), digits(case.two), f"{case.ratio:.2f}x"]
        for case in outcome.threads
    ]
    return "Seconds that the program reports.\n\n" + table(["", "1 thread", "2 threads", "speedup"], body)


def markdown(outcome: Outcome, command: str, load: float) -> str:
    """The whole page."""
    introduction = (
        f"{stamp(command, versions('numpy', 'scipy', 'scikit-learn'), load_text(load))}\n\n"
        "Each measurement is a new process; competitors are run alternately. d = 5 (yale: 9), tolerance 1e-6, TAE with "
        "cones of 60 degrees (yale: 85). The matrices are synthetic clips in the four sizes of the paper's table of "
        "running times. Times differ between machines: compare them only within one report.\n"
    )
    return page("Benchmarks", introduction, sections(outcome))
