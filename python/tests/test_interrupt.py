"""Ctrl-C, callbacks, progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from steradian import AngularEmbedding, Progress


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started with the signal ignored, as by nohup."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.fixture(scope="module")
def large() -> np.ndarray:
    """Data for a fit of several seconds."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((60_000, 400), dtype=np.float32)


def slow() -> AngularEmbedding:
    return AngularEmbedding(20, method="angular", solver="krylov", tol=1e-12)


@pytest.mark.parametrize("delay", [0.05, 0.4, 0.8])
def test_ctrl_c_stops_a_fit(large: np.ndarray, delay: float) -> None:
    estimator = slow()
    sent: list[float] = []

    def interrupt() -> None:
        time.sleep(delay)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(large)
    waited = time.perf_counter() - sent[0]
    thread.join()
    assert waited < 0.2, f"{waited:.3f} s from Ctrl-C to the exception"
    assert not [name for name in vars(estimator) if name.endswith("_")]
    # The next fit is not affected.
    assert AngularEmbedding(2).fit(large[:500]).converged_


def test_ctrl_c_stops_transform_and_diagnose(large: np.ndarray) -> None:
    model = AngularEmbedding.paper(20).fit(large[:500])
    for use in (
        lambda: model.transform(large, robust_scores=True),
        lambda: [model.diagnose(large) for _ in range(200)],
    ):
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            use()
        timer.join()


def test_callback_receives_every_pass(table: np.ndarray) -> None:
    received: list[Progress] = []
    model = AngularEmbedding(2).fit(table, callback=received.append)
    assert {p.pass_number for p in received} == set(range(1, model.n_passes_ + 1))
    last = {p.pass_number: p for p in received}
    assert all(p.bytes_read == p.bytes_total > 0 for p in last.values())
    assert all(isinstance(p.name, str) for p in received)


def test_an_exception_of_the_callback_stops_the_fit(large: np.ndarray) -> None:
    def enough(progress: Progress) -> None:
        raise RuntimeError(f"enough at pass {progress.pass_number}")

    estimator = slow()
    start = time.perf_counter()
    with pytest.raises(RuntimeError, match="enough at pass 1"):
        estimator.fit(large, callback=enough)
    assert time.perf_counter() - start < 1
    assert not hasattr(estimator, "components_")
    with pytest.raises(TypeError, match="is not callable"):
        estimator.fit(large, callback="text")


def test_other_threads_run_during_a_fit(large: np.ndarray) -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    AngularEmbedding.paper(5).set_params(tol=1e-2).fit(large)
    seconds = time.perf_counter() - start
    done.set()
    thread.join()
    assert counted > 100 * seconds


def test_verbose_with_tqdm(table: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm", reason="the progress bar requires tqdm")
    AngularEmbedding(2, verbose=True).fit(table)
    assert "pass 1 " in capsys.readouterr().err


def test_verbose_without_tqdm(
    table: np.ndarray, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model = AngularEmbedding(2, verbose=True).fit(table)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == model.n_passes_
    assert all(line.startswith(f"pass {i + 1} ") and line.endswith("MiB") for i, line in enumerate(lines))
    AngularEmbedding(2).fit(table)
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_a_program() -> None:
    """The signal of another process ends the interpreter with KeyboardInterrupt."""
    code = (
        "import numpy as np, steradian\n"
        "X = np.random.default_rng(0).standard_normal((60_000, 400), dtype=np.float32)\n"
        "print('ready', flush=True)\n"
        "steradian.AngularEmbedding(20, method='angular', solver='krylov', tol=1e-12).fit(X)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=5)
    assert "KeyboardInterrupt" in errors
    assert child.returncode != 0
