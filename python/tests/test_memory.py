"""No copy of the data: peak memory of a fit, measured in a separate process.

The measure is anonymous memory (RssAnon), without the pages of mapped files. It is sampled during the fit; the data, or
their copy in the precision of the fit, are several times larger than the accepted increase.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

MEASURE = """
import json, sys, threading, time
import numpy as np, steradian

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

prepare, use = sys.argv[1:]
names = {"np": np, "steradian": steradian}
exec(prepare, names)
exec("steradian.AngularEmbedding(2).fit(np.random.default_rng(0).standard_normal((50, 5)))", names)
before, peak, done = anonymous(), 0, threading.Event()
def watch():
    global peak
    while not done.is_set():
        peak = max(peak, anonymous())
        time.sleep(0.001)
watcher = threading.Thread(target=watch); watcher.start()
exec(use, names)
done.set(); watcher.join()
print(json.dumps({"extra": max(peak, anonymous()) - before, "bytes": names["size"]}))
"""

SAMPLES, FEATURES = 8_192, 4_096


def extra_memory(prepare: str, use: str) -> tuple[float, float]:
    """Extra anonymous memory while `use` runs after `prepare`, and the size of the data, in MB."""
    done = subprocess.run([sys.executable, "-c", MEASURE, prepare, use], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["extra"] / 1e6, found["bytes"] / 1e6


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """32 MB of u8."""
    path = tmp_path_factory.mktemp("clip") / "clip.npy"
    rng = np.random.default_rng(0)
    waves = np.sin(np.outer(np.arange(1, 7), np.arange(FEATURES)) / 300) * (30 / np.arange(1, 7))[:, None]
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(SAMPLES, FEATURES))
    for start in range(0, SAMPLES, 1024):
        noise = rng.integers(0, 8, (1024, FEATURES), dtype=np.uint8)
        out[start : start + 1024] = (rng.standard_normal((1024, 6)) @ waves + 120).clip(0, 240).astype(np.uint8) + noise
    del out
    return path


# A low accuracy saves passes; each of them has the same buffers.
FIT = "steradian.AngularEmbedding.paper(5).set_params(solver='krylov', tol=1e-2).fit(X)"
ROBUST = "steradian.AngularEmbedding(2, n_directions=20, tol=1e-2).fit(X)"


@pytest.mark.parametrize(
    "prepare",
    [
        "X = np.load({path!r}); size = X.nbytes",
        "X = np.load({path!r}, mmap_mode='r'); size = X.nbytes",
        "X = {path!r}; size = 33554432",
    ],
    ids=["u8 array", "u8 memmap", "path"],
)
def test_fit_of_u8(clip: Path, prepare: str) -> None:
    extra, size = extra_memory(prepare.format(path=str(clip)), FIT)
    assert size > 33
    assert extra < 15, f"{extra:.0f} MB extra for {size:.0f} MB of data"


def test_robust_fit_of_u8(clip: Path) -> None:
    prepare = f"X = np.load({str(clip)!r}, mmap_mode='r')[::2]; size = X.nbytes"
    extra, size = extra_memory(prepare, ROBUST)
    # The search holds at most 1500 rows of 2048 features as f64 numbers, the last eigenproblem a Krylov basis of 32 MB.
    assert extra < 150, f"{extra:.0f} MB extra for {size:.0f} MB of data"


def test_fit_of_f32_in_fortran_order() -> None:
    prepare = (
        "rng = np.random.default_rng(0); X = np.empty((8192, 2048), np.float32, order='F')\n"
        "for j in range(0, 2048, 256): X[:, j:j+256] = rng.standard_normal((8192, 256), dtype=np.float32)\n"
        "X[:, :6] *= 10; size = X.nbytes"
    )
    extra, size = extra_memory(prepare, FIT)
    assert size > 67
    assert extra < 15, f"{extra:.0f} MB extra for {size:.0f} MB of data"


def test_fit_of_every_other_row_and_of_integers() -> None:
    prepare = (
        "rng = np.random.default_rng(0); all_rows = rng.integers(-99, 99, (8192, 2048), dtype={dtype!r})\n"
        "all_rows[:, :6] *= 9; X = all_rows[::2]; size = X.nbytes"
    )
    for dtype in ("int16", "int64"):
        extra, size = extra_memory(prepare.format(dtype=dtype), FIT)
        # Blocks of 256 rows are converted, two at a time on two cores.
        assert extra < 28, f"{extra:.0f} MB extra for {size:.0f} MB of {dtype}"


def test_transform_and_diagnose_of_u8(clip: Path) -> None:
    prepare = f"X = np.load({str(clip)!r}, mmap_mode='r'); size = X.nbytes\n"
    prepare += "model = steradian.AngularEmbedding.paper(5).set_params(solver='krylov', tol=1e-2).fit(X[:1000])"
    for use in ("model.transform(X)", "model.diagnose(X)"):
        extra, size = extra_memory(prepare, use)
        assert extra < 15, f"{use}: {extra:.0f} MB extra for {size:.0f} MB of data"


def test_data_frames_are_read_in_place() -> None:
    pandas = "import pandas as pd; X = pd.DataFrame(rng.standard_normal((200_000, 50)))"
    mixed = pandas + "; X[7] = X[7].astype('float32')"
    polars = "import polars as pl; X = pl.DataFrame({f'f{j}': rng.standard_normal(200_000) for j in range(50)})"
    for frame in (pandas, mixed, polars):
        prepare = f"rng = np.random.default_rng(0); {frame}; size = 200_000 * 50 * 8"
        extra, size = extra_memory(prepare, "steradian.AngularEmbedding.paper(5).fit(X)")
        assert extra < 0.5 * size, f"{frame}: {extra:.0f} MB extra for {size:.0f} MB"
