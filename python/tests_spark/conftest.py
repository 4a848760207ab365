"""Local Spark sessions; a process has one at a time, so a test that needs another one stops the last."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

Start = Callable[..., SparkSession]

_SETTINGS = (
    "spark.driver.bindAddress=127.0.0.1",
    "spark.driver.host=127.0.0.1",
    "spark.ui.enabled=false",
    "spark.ui.showConsoleProgress=false",
)


def pytest_configure() -> None:
    """Workers use this interpreter; no session, including that of the guide, listens on the network."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*(f"--conf {setting}" for setting in _SETTINGS), "pyspark-shell"])


def _stop() -> None:
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()


def _start(master: str = "local[2,4]", **environment: str) -> SparkSession:
    _stop()
    # A builder keeps its options, so each session uses a new one.
    builder: Any = SparkSession.Builder().master(master)
    for name, value in environment.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="session")
def start() -> Iterator[Start]:
    """Starts a session in place of the last one, with its master and environment variables of its workers."""
    yield _start
    _stop()


@pytest.fixture
def spark(start: Start) -> SparkSession:
    """A session of two cores that runs tasks up to four times."""
    active = SparkSession.getActiveSession()
    if active is not None and active.sparkContext._jsc is not None:
        plain = not any(name.startswith("spark.executorEnv.") for name, _ in active.sparkContext.getConf().getAll())
        if active.sparkContext.master == "local[2,4]" and plain:
            return active
    return start()
