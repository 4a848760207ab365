"""Fixtures of the tests: data with outliers, the golden cases, and the program of the command line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fresh", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def golden() -> Path:
    return ROOT / "crates/steradian/tests/golden"


@pytest.fixture(scope="session")
def program() -> str:
    """The program of the command line, which `make test` builds first."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(os.environ.get("STERADIAN_PROGRAM", target / "debug/steradian"))
    assert path.exists(), f"{path} is missing; run cargo build -p steradian-cli, or set STERADIAN_PROGRAM"
    return str(path)


@pytest.fixture
def table() -> np.ndarray:
    """200 samples near a plane in 6 dimensions, the last 20 of them outliers."""
    rng = np.random.default_rng(5)
    samples = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((200, 6)) + 3
    samples[180:] += 40 * rng.standard_normal(6)
    return samples
