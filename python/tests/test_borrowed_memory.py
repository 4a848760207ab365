"""Memory that the engine borrows: arrays stay in place during a fit, and mapped files may shrink without a crash."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import steradian
from steradian import PCA, AngularEmbedding

X = np.random.default_rng(0).standard_normal((3000, 40)) * np.linspace(9, 1, 40)


@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a[:, :30], lambda a: a.reshape(3000, 8, 5), lambda a: a[::-2].T.T]
)
def test_an_array_is_not_resized_during_a_fit(view: Callable[[np.ndarray], np.ndarray]) -> None:
    """`refcheck=False` freed the memory that the fit was reading."""
    array = X.copy()
    refused = []

    def resize(_: steradian.Progress) -> None:
        try:
            array.resize((30_000, 400), refcheck=False)
        except ValueError:
            refused.append(True)

    model = AngularEmbedding(2, n_directions=20).fit(view(array), callback=resize)
    assert refused
    assert np.isfinite(model.components_).all()
    array.resize((10, 40), refcheck=False)  # nothing is held after the fit
    assert array.shape == (10, 40)


TRUNCATED = """
import os, sys
import numpy as np
import steradian

path = sys.argv[1]
table = np.random.default_rng(0).standard_normal((3000, 40)) * np.linspace(9, 1, 40)
views = {"rows": lambda x: x, "strided": lambda x: x[::2, ::3], "plain": lambda x: np.asarray(x)[5:]}
for dtype in ("float64", ">f4", "int16"):
    for order, view in views.items():
        # To nothing, and by less than a page, whose remaining bytes read as zero.
        for when, size in ((0, 0), (2, 0), (2, 128 + 40 * np.dtype(dtype).itemsize * 2990)):
            np.save(path, np.asfortranarray(table.astype(dtype)) if order == "strided" else table.astype(dtype))
            mapped = view(np.load(path, mmap_mode="r"))
            if when == 0:
                os.truncate(path, size)
            estimator = steradian.AngularEmbedding("auto", method="angular", solver="krylov")
            try:
                estimator.fit(mapped, callback=lambda p: os.truncate(path, size) if p.pass_number == when else None)
                print(dtype, order, when, size, "no error")
            except OSError as error:
                print("OSError:", error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the copy is checked on Linux")
def test_a_truncated_mapped_array_is_an_error(tmp_path: Path) -> None:
    """It raised SIGBUS, which ends Python."""
    command = [sys.executable, "-c", TRUNCATED, str(tmp_path / "x.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-500:])
    lines = done.stdout.splitlines()
    assert len(lines) == 27
    for line in lines:
        assert line.startswith("OSError: "), line
        assert line.endswith("fit again when no other process writes it"), line


@pytest.mark.skipif(sys.platform != "linux", reason="the copy is checked on Linux")
def test_a_file_that_is_written_anew_by_another_thread_never_ends_python(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, X)
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            os.truncate(path, 0)
            np.save(path, X)

    mapped = np.load(path, mmap_mode="r")
    writer = threading.Thread(target=rewrite)
    writer.start()
    failed = 0
    try:
        for _ in range(20):
            # Too short, or rows of zeros that are all equal.
            with contextlib.suppress(OSError, ValueError):
                PCA(2).fit(mapped)
                failed -= 1
            failed += 1
    finally:
        stop.set()
        writer.join()
    assert failed


def test_mapped_arrays_of_any_layout_give_the_model_of_the_array_in_memory(tmp_path: Path) -> None:
    for dtype in ("float64", "float32", "uint8", "int16", ">f8"):
        for order in ("C", "F"):
            np.save(tmp_path / "x.npy", np.asarray(np.abs(X[:700]) * 3, dtype=dtype, order=order))
            mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
            for view in (
                mapped,
                mapped[::-1],
                mapped[::3, ::-2],
                mapped[:, 5:9],
                mapped[10:300].reshape(290, 8, 5)[:, ::-1],
                np.asarray(mapped)[1:],
            ):
                alone = PCA(2).fit(np.array(view))
                assert PCA(2).fit(view)._model.to_bytes() == alone._model.to_bytes(), (dtype, order, view.strides)
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[3] = 0  # in memory only
    assert PCA(2).fit(private)._model.to_bytes() == PCA(2).fit(np.array(private))._model.to_bytes()


NO_MEMORY = """
import resource
import numpy as np
import steradian

model = steradian.PCA(2).fit(np.eye(4, dtype=np.float32))
many = np.broadcast_to(np.float32(1), (1 << 31, 4))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
for use in (model.transform, model.diagnose, model.predict):
    try:
        use(many)
    except MemoryError as error:
        print(error)
print(model.transform(np.eye(4)).shape)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited on Linux")
def test_an_output_that_does_not_fit_into_memory_is_an_error() -> None:
    """The allocation of 16 GiB aborted Python."""
    done = subprocess.run([sys.executable, "-c", NO_MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    *refused, shape = done.stdout.splitlines()
    assert len(refused) == 3
    assert all("no memory left for a buffer of 16.00 GiB" in line for line in refused), refused
    assert shape == "(4, 2)"
