"""An allocation that fails within a fit raises MemoryError; the process lives on.

The shared library of crates/steradian-faults, which `cargo test` builds, makes the n-th allocation of 1 MiB or more
fail.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Position of the count of large allocations in the file of counts.
ALLOCATIONS = 14

FIT = """
import os, sys
import numpy as np
from steradian import AngularEmbedding

def allocations():
    counts = np.fromfile(os.environ["STERADIAN_FAULT_COUNTS"], dtype="<u8")
    return int(counts[int(sys.argv[2])]), int(counts[-1])

shape, method = {"samples": ((150_000, 3), "angular"), "features": ((12, 150_000), "pca")}[sys.argv[1]]
x = np.random.default_rng(0).normal(size=shape)
before, _ = allocations()
try:
    AngularEmbedding(2, method=method, n_jobs=1).fit(x)
    result = "fitted"
except MemoryError:
    result = "MemoryError"
after, faults = allocations()
# The process lives on: the fit succeeds when memory is available again.
AngularEmbedding(2, method=method, n_jobs=1).fit(x)
print(before, after, faults, result)
"""


def library() -> Path:
    """The library of faults; the test is skipped if it was not built."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    for path in (target / "deps/libsteradian_faults.so", target / "libsteradian_faults.so"):
        if path.exists():
            return path.resolve()
    pytest.skip("libsteradian_faults.so is not built; run `cargo build -p steradian-faults`")


def fit(shape: str, folder: Path, at: int | None = None) -> tuple[int, int, int, str]:
    """Fits in another process; returns the allocations before and after the fit, the faults, and the result."""
    environment = os.environ | {"LD_PRELOAD": str(library()), "STERADIAN_FAULT_COUNTS": str(folder / "counts")}
    if at is not None:
        environment |= {"STERADIAN_FAULT_KIND": "allocate", "STERADIAN_FAULT_AT": str(at)}
        environment["STERADIAN_FAULT_ERROR"] = "12"
    (folder / "counts").unlink(missing_ok=True)
    command = [sys.executable, "-c", FIT, shape, str(ALLOCATIONS)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, f"allocation {at}: exit code {run.returncode}\n{run.stderr}"
    before, after, faults, result = run.stdout.split()
    return int(before), int(after), int(faults), result


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the library of faults requires Linux")
@pytest.mark.parametrize("shape", ["samples", "features"])
def test_a_failed_allocation_raises_memory_error(shape: str, tmp_path: Path) -> None:
    before, after, faults, result = fit(shape, tmp_path)
    assert (faults, result) == (0, "fitted")
    count = after - before
    assert count > 2, "the fit has no large allocation"
    # The first, the last and some between.
    for at in sorted({1, 1 + count // 3, 1 + 2 * count // 3, count}):
        _, _, faults, result = fit(shape, tmp_path, before + at)
        assert (faults, result) == (1, "MemoryError"), f"allocation {at} of {count}"
