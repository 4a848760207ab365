"""scikit-learn's own tests of PCA and IncrementalPCA, run against the estimators of this package.

The tests are those of the installed scikit-learn. Their text is read at run time, with this package in place of
`sklearn.decomposition` in the import of the two classes; no test is stored here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import sklearn.decomposition

IMPORTS = {
    "test_pca": ("from sklearn.decomposition import PCA\n", "from steradian import PCA\n"),
    "test_incremental_pca": (
        "from sklearn.decomposition import PCA, IncrementalPCA\n",
        "from steradian import PCA, IncrementalPCA\n",
    ),
}
"""The line of each module that imports the classes, and the line in its place."""

ARRAY_API = "arrays of other libraries (array API dispatch) are converted to NumPy's, and results are NumPy's"

NOT_SUPPORTED = {
    "test_pca.py::test_pca*_array_api_compliance[[]*-array_api_strict-*": ARRAY_API,
    "test_pca.py::test_pca*_array_api_compliance[[]*-cupy-*": ARRAY_API,
    "test_pca.py::test_pca*_array_api_compliance[[]*-dpnp-*": ARRAY_API,
    "test_pca.py::test_pca*_array_api_compliance[[]*-torch-*": ARRAY_API,
    "test_pca.py::test_array_api_error_and_warnings_on_unsupported_params": ARRAY_API,
}
"""Patterns of the tests that fail, with the reason; those that need a library that is not installed are skipped."""

LEAST_PASSED = 425

PLUGIN = """
import json
import os

OUTCOMES = {}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        OUTCOMES[report.nodeid] = report.outcome


def pytest_sessionfinish():
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(OUTCOMES, file)
"""

ENVIRONMENT = {
    "SCIPY_ARRAY_API": "1",
    "SKLEARN_RUN_FLOAT32_TESTS": "1",
    "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42",
    # The tests have small tables, for which threads cost more than they save.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The outcome of each of scikit-learn's tests by its id."""
    folder = tmp_path_factory.mktemp("sklearn_pca")
    tests = Path(sklearn.decomposition.__file__).parent / "tests"
    for name, (theirs, ours) in IMPORTS.items():
        text = (tests / f"{name}.py").read_text(encoding="utf-8")
        assert text.count(theirs) == 1, (
            f"{name} of scikit-learn {sklearn.__version__} has another import of the classes"
        )
        (folder / f"{name}.py").write_text(text.replace(theirs, ours), encoding="utf-8")
    (folder / "outcome_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    written = folder / "outcomes.json"
    paths = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    plugins = ["-p", "sklearn.conftest", "-p", "outcome_plugin"]
    done = subprocess.run(
        [*command, *plugins, *(f"{name}.py" for name in IMPORTS)],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": paths, "OUTCOMES": str(written)},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout[-20000:], done.stderr[-2000:])
    assert done.returncode in (0, 1), "the tests did not run to their end"
    found: dict[str, str] = json.loads(written.read_text(encoding="utf-8"))
    return found


def is_listed(test: str) -> bool:
    return any(fnmatchcase(test, pattern) for pattern in NOT_SUPPORTED)


def with_outcome(outcomes: dict[str, str], outcome: str) -> list[str]:
    return [test for test, found in outcomes.items() if found == outcome]


def test_only_listed_tests_fail(outcomes: dict[str, str]) -> None:
    assert [test for test in with_outcome(outcomes, "failed") if not is_listed(test)] == []


def test_no_listed_test_passes(outcomes: dict[str, str]) -> None:
    assert [test for test in with_outcome(outcomes, "passed") if is_listed(test)] == []


def test_only_listed_tests_are_skipped(outcomes: dict[str, str]) -> None:
    assert [test for test in with_outcome(outcomes, "skipped") if not is_listed(test)] == []


def test_every_pattern_has_a_test(outcomes: dict[str, str]) -> None:
    assert [pattern for pattern in NOT_SUPPORTED if not any(fnmatchcase(test, pattern) for test in outcomes)] == []


def test_most_tests_pass(outcomes: dict[str, str]) -> None:
    passed = len(with_outcome(outcomes, "passed"))
    print(f"{passed} of {len(outcomes)} tests of scikit-learn {sklearn.__version__} pass")
    assert passed >= LEAST_PASSED
