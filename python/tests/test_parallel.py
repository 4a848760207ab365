"""Concurrent fits: threads, forked processes, joblib's workers."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from steradian import AngularEmbedding
from steradian._threads import cores, threads


def components(X: np.ndarray, seed: int) -> np.ndarray:
    return AngularEmbedding(2, random_state=seed).fit(X).components_


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(table: np.ndarray, backend: str) -> None:
    components(table, 0)  # so that forked children inherit an engine after use
    found = Parallel(n_jobs=2, backend=backend)(delayed(components)(table, seed) for seed in range(4))
    for seed, value in enumerate(found):
        np.testing.assert_array_equal(value, components(table, seed))


def test_fork_while_a_fit_runs(table: np.ndarray) -> None:
    X = np.random.default_rng(0).standard_normal((20_000, 300), dtype=np.float32) * np.linspace(5, 1, 300) ** 2
    context = multiprocessing.get_context("fork")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: AngularEmbedding.paper(10).set_params(solver="krylov").fit(X))
        with context.Pool(1) as children:
            found = children.apply_async(components, (table, 0)).get(timeout=20)
        running.result()
    np.testing.assert_array_equal(found, components(table, 0))


def test_threads(table: np.ndarray) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: components(table, seed % 2), range(16)))
    for seed, value in enumerate(found):
        np.testing.assert_array_equal(value, components(table, seed % 2))


def test_models_move_between_processes(table: np.ndarray) -> None:
    model = AngularEmbedding(2).fit(table)
    parts = Parallel(n_jobs=2)(delayed(model.transform)(part) for part in np.array_split(table, 4))
    np.testing.assert_array_equal(np.concatenate(parts), model.transform(table))


def test_n_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads(None) == 0
    assert threads(3) == 3
    assert threads(-1) == cores()
    assert threads(-1000) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads(None) == 1
    for wrong in (0, 1.5, "two", True):
        with pytest.raises(ValueError, match="is not supported; expected an integer >= 1"):
            threads(wrong)
