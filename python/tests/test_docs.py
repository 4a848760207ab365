"""Examples of the READMEs, the guides and the docstrings, run as doctests."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import warnings
from pathlib import Path

import pytest

import steradian

ROOT = Path(__file__).resolve().parents[2]
# The guide to Spark is run by `make test-spark`, in an environment of its own.
GUIDES = [page for page in sorted((ROOT / "docs/python").glob("*.md")) if page.name != "spark.md"]
PAGES = [ROOT / "README.md", ROOT / "python/README.md", *GUIDES]
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS, encoding="utf-8")
    assert failed == 0
    assert tried > 0 or page == ROOT / "docs/python/README.md"


def test_docstrings() -> None:
    names = [module.name for module in pkgutil.walk_packages(steradian.__path__, "steradian.")]
    tried = 0
    for name in [name for name in names if not name.endswith("_engine")]:
        result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 0


def test_every_public_name_is_documented() -> None:
    for name in steradian.__all__:
        assert getattr(steradian, name).__doc__, name
