"""Every example of the guide to Spark runs with the output shown."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs/python/spark.md"


def test_page(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.stop()  # the page starts its own
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=options, encoding="utf-8")
    assert failed == 0
    assert tried > 0
