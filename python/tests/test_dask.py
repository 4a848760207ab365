"""Fits on a Dask cluster of two worker processes: identical bytes, also after failures of workers."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import steradian
from steradian import PCA, AngularEmbedding, _worker_tasks
from steradian.dask import Partitions


def _cluster(workers: int) -> LocalCluster:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the dashboard's port may be taken
        return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0)


@pytest.fixture(scope="module")
def cluster() -> Any:
    # By default a local cluster closes a worker for good if it is lost at one moment, 15 s after an earlier loss.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}), _cluster(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Any:
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


def _samples(n: int = 600, features: int = 12) -> np.ndarray:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 3)) @ (rng.standard_normal((3, features)) * [[5], [3], [2]])
    X += 0.1 * rng.standard_normal((n, features)) + 2
    X[::5] += 30 * rng.standard_normal(features)
    return X


def _sine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - (a @ b.T) @ b, 2))


def _bytes(model: Any) -> bytes:
    return bytes(model._model.to_bytes())


ESTIMATORS = {
    "ae": AngularEmbedding(3, method="ae"),
    "angular": AngularEmbedding(3, method="angular", screen="outlyingness", n_directions=40),
    "cells": AngularEmbedding(3, method="cells"),
    "robust": AngularEmbedding(3, n_directions=40),
    "angular krylov": AngularEmbedding(3, method="angular", solver="krylov"),
    "mad": AngularEmbedding(2, scaling="mad"),
    "auto": AngularEmbedding("auto", method="ae"),
    "pca": PCA(3),
    "tae": AngularEmbedding.paper(2, max_angle=60),
}


@pytest.mark.parametrize("method", ["robust", "cells", "angular", "pca"])
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_missing_cells(client: Client, method: str, kind: str) -> None:
    """The numbers of one machine, from partitions with missing cells; one of them has no complete row."""
    X = _samples()
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[100:130, 1] = np.nan
    alone = AngularEmbedding(3, method=method).fit(X)
    lazy: Any = da.from_array(X, chunks=((100, 30, 250, 220), -1))
    if kind == "frame":
        lazy = dd.from_dask_array(lazy, columns=[f"f{j}" for j in range(X.shape[1])])
    model = AngularEmbedding(3, method=method).fit(lazy)
    assert _sine(model.components_, alone.components_) < 1e-4
    np.testing.assert_array_equal(model.support_, alone.support_)
    scores = model.transform(lazy).compute()
    np.testing.assert_allclose(np.abs(scores), np.abs(alone.transform(X)), rtol=1e-3, atol=1e-3 * np.abs(scores).max())
    with pytest.raises(ValueError, match="NaN at row 0"):
        AngularEmbedding(3, method=method, missing="error").fit(lazy)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_result_of_one_machine(client: Client, name: str) -> None:
    X = _samples()
    alone = clone(ESTIMATORS[name]).fit(X)
    lazy = da.from_array(X, chunks=((100, 1, 250, 249), -1))
    model = clone(ESTIMATORS[name]).fit(lazy)
    assert _sine(model.components_, alone.components_) < 2e-5
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_allclose(model.explained_variance_, alone.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(model.explained_variance_ratio_, alone.explained_variance_ratio_, rtol=1e-4)
    scores = model.transform(lazy)
    assert isinstance(scores, da.Array)
    assert scores.chunks == (lazy.chunks[0], (model.n_components_,))
    np.testing.assert_allclose(scores.compute(), model.transform(X), rtol=1e-12, atol=1e-12)


def test_a_cone_is_found_by_elimination_however_few_samples_there_are(cluster: LocalCluster) -> None:
    X = (_samples(900) * 4 + 100).clip(0, 255).astype(np.uint8)
    lazy = da.from_array(X, chunks=(250, -1))
    tae = AngularEmbedding.paper(2, max_angle=50)
    none = clone(tae).fit(lazy)
    exact = clone(tae).set_params(exact=True).fit(X)
    assert json.loads(none._model.metadata)["elimination"]["recounted"] < 900
    assert (none.pivot_, none.tau_[none.pivot_]) == (exact.pivot_, exact.tau_[exact.pivot_])
    np.testing.assert_array_equal(none.support_, exact.support_)
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        assert _bytes(clone(tae).fit(lazy)) == _bytes(none)


def test_identical_bytes_on_two_workers_one_worker_and_none(cluster: LocalCluster) -> None:
    X = da.from_array((_samples(900) * 4 + 100).clip(0, 255).astype(np.uint8), chunks=(200, -1))
    none = _bytes(AngularEmbedding(2, n_directions=20).fit(X))
    with _cluster(1) as single, Client(single):
        assert none == _bytes(AngularEmbedding(2, n_directions=20).fit(X))
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        assert none == _bytes(AngularEmbedding(2, n_directions=20).fit(X))
        assert none == _bytes(AngularEmbedding(2, n_directions=20).fit(X.persist()))


def test_adjacent_partitions_are_hinted_to_one_worker_unless_persisted(client: Client) -> None:
    lazy = da.from_array(_samples(800), chunks=(100, -1))
    partitions = Partitions(lazy, reader="a test")
    placement = partitions._placement("pass")
    hints = [placement[f"pass-part-{i}"] for i in range(8)]
    assert hints == sorted(hints)
    assert [hints.count((worker,)) for worker in client.nthreads()] == [4, 4]
    assert [placement[part.key] for part in partitions._parts] == hints
    assert [placement[f"pass-merge-0-{i}"] for i in range(4)] == hints[::2]
    assert [placement[f"pass-merge-1-{i}"] for i in range(2)] == hints[::4]
    assert placement["pass-merge-2-0"] == hints[0]
    assert not Partitions(lazy.persist(), reader="a test")._placement("pass")


def test_rows_are_produced_where_they_are_reduced(client: Client) -> None:
    shared = dask.delayed(lambda: 1.0)()
    made = [dask.delayed(np.full)((50, 3), float(i)) * shared for i in range(4)]
    partitions = Partitions([part + 1 for part in made], reader="a test")
    placement = partitions._placement("pass")
    for i, (part, before) in enumerate(zip(partitions._parts, made, strict=True)):
        assert placement[part.key] == placement[before.key] == placement[f"pass-part-{i}"] != ()
    assert placement[shared.key] == ()


def test_parts_may_be_arrays_frames_and_paths(client: Client, tmp_path: Path) -> None:
    import pandas as pd

    X = _samples(300, 5)
    np.save(tmp_path / "last.npy", X[200:])
    parts = [
        dask.delayed(X[:90]),
        dask.delayed(X[:0]),
        dask.delayed(pd.DataFrame)(X[90:200]),
        dask.delayed(str)(tmp_path / "last.npy"),
    ]
    model = AngularEmbedding(2, n_directions=20).fit(parts)
    same = AngularEmbedding(2, n_directions=20).fit(da.from_array(X, chunks=((90, 110, 100), -1)))
    assert _bytes(model) == _bytes(same)
    scores = model.transform(parts)
    np.testing.assert_array_equal(np.concatenate(dask.compute(*scores)), model.transform(X))


def test_futures_and_lists_of_futures(client: Client) -> None:
    X = _samples(300, 5)
    whole = AngularEmbedding(2, n_directions=20).fit(da.from_array(X, chunks=(100, -1)))
    scattered = [client.scatter(X[first : first + 100]) for first in range(0, 300, 100)]
    submitted = [client.submit(np.copy, part, pure=False) for part in scattered]
    for futures in (scattered, submitted, [scattered[0], dask.delayed(X[100:200]), submitted[2]]):
        model = AngularEmbedding(2, n_directions=20).fit(futures)
        assert _bytes(model) == _bytes(whole)
        scores = model.transform(futures)
        np.testing.assert_array_equal(np.concatenate(client.gather(client.compute(scores))), model.transform(X))
    assert not Partitions(submitted, reader="a test")._placement("pass")
    alone = AngularEmbedding(2, n_directions=20).fit(client.submit(np.copy, X))
    assert _bytes(alone) == _bytes(AngularEmbedding(2, n_directions=20).fit(X))
    failing = client.submit(lambda: [][1])
    with pytest.raises(RuntimeError, match="reading the partition sizes: IndexError"):
        AngularEmbedding(2, n_directions=20).fit([failing])
    cancelled = client.submit(time.sleep, 0.5)
    cancelled.cancel()
    with pytest.raises(ValueError, match="was cancelled; submit it again"):
        AngularEmbedding(2, n_directions=20).fit([cancelled])


def test_images_unknown_lengths_and_empty_chunks(client: Client) -> None:
    images = _samples(200, 12).astype(np.float32).reshape(200, 3, 4)
    lazy = da.from_array(images, chunks=((50, 0, 150), -1, -1))
    model = AngularEmbedding(2, screen="none").fit(lazy)
    assert model._model.image == (3, 4)
    filtered = lazy[lazy[:, 0, 0] < 1e9]
    assert np.isnan(filtered.shape[0])
    assert _bytes(AngularEmbedding(2, screen="none").fit(filtered)) == _bytes(model)
    np.testing.assert_array_equal(model.transform(lazy).compute(), model.transform(images))


def test_passes_have_names_and_are_reported(client: Client) -> None:
    received = []
    X = da.from_array(_samples(200, 5), chunks=(100, -1)).persist()
    model = AngularEmbedding(2, n_directions=20).fit(X, callback=received.append)
    assert [progress.pass_number for progress in received] == list(range(1, model.n_passes_ + 1))
    assert all(progress.bytes_read == progress.bytes_total == 200 * 5 * 8 for progress in received)
    ran = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"steradian-check", "steradian-outlyingness"} & set(ran)

    class EnoughError(Exception):
        pass

    def stop(progress: steradian.Progress) -> None:
        raise EnoughError

    fresh = AngularEmbedding(2, n_directions=20)
    with pytest.raises(EnoughError):
        fresh.fit(X, callback=stop)
    assert not hasattr(fresh, "components_")


def test_the_earliest_row_that_is_not_finite_is_reported(client: Client) -> None:
    X = _samples(400, 5)
    X[399, 2] = np.nan
    with pytest.raises(ValueError, match="row 399"):
        AngularEmbedding(2, missing="error").fit(da.from_array(X, chunks=(100, -1)))
    X[123, 1] = np.inf
    for _ in range(3):
        with pytest.raises(ValueError, match="row 123"):
            AngularEmbedding(2, n_directions=20).fit(da.from_array(X, chunks=(100, -1)))


def _whole(features: int = 4, dtype: type = np.float64) -> Any:
    return dask.delayed(np.ones)((3, features), dtype=dtype)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ([_whole(), _whole(0), _whole(5)], ValueError, "partition 1: Found array with 0 feature"),
        ([_whole(), _whole(5)], ValueError, "partition 1 .* 5 features .* equal features"),
        ([_whole(), _whole(dtype=np.float32)], ValueError, "4 features of float32 where partition 0 has 4 features"),
        ([dask.delayed(list)("ab"), _whole()], ValueError, "partition 0: dtype <U1"),
        ([dask.delayed(np.ones)((0, 3))], ValueError, r"0 sample\(s\) while a minimum of 2"),
        (da.ones((20, 6), chunks=(10, 3)), ValueError, r"rechunk\(\{1: -1\}\)"),
        (da.ones(20, chunks=10), ValueError, "got 1D array"),
        (da.ones((20, 6), chunks=(10, 6), dtype=complex), ValueError, "Complex data not supported"),
    ],
)
def test_partitions_that_are_rejected(client: Client, X: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        AngularEmbedding(2, n_directions=20).fit(X)


def test_options_that_compare_pairs_of_samples_are_rejected_with_a_remedy(client: Client) -> None:
    X = da.from_array(_samples(60, 4), chunks=(30, -1))
    with pytest.raises(ValueError, match=r"exact pivot search .* every pair of samples.*use exact=False"):
        AngularEmbedding.paper(2, max_angle=60).set_params(exact=True).fit(X)
    with pytest.raises(ValueError, match=r"automatic max_angle .* every pair of samples.*angle in degrees"):
        AngularEmbedding.paper(2, max_angle="auto").fit(X)
    with pytest.raises(ValueError, match="solver krylov"):
        AngularEmbedding(2, method="ae", solver="gram").fit(X)
    for options in ({"missing_mask": np.zeros((60, 4), bool)}, {"exclude": [3]}):
        with pytest.raises(TypeError, match=f"{next(iter(options))} is not supported for data on a cluster"):
            AngularEmbedding(2).fit(X, **options)
    with pytest.raises(TypeError, match=r"X\.dropna"):
        AngularEmbedding(2, missing="drop").fit(X)
    with pytest.raises(TypeError, match="EMPCA does not support Dask collections"):
        steradian.EMPCA(2).fit(X)
    model = AngularEmbedding(2, n_directions=20).fit(X)
    with pytest.raises(TypeError, match="map_blocks"):
        model.predict(X)
    lazy = X.map_blocks(model.predict, drop_axis=1, dtype=int)
    np.testing.assert_array_equal(lazy.compute(), model.predict(X.compute()))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.transform(X[:, :3])


def _pretend(version: str | None) -> None:
    """Simulates another version of the package in this process."""
    _worker_tasks._engine = type(
        "Other",
        (),
        {"VERSION": version, "Job": _worker_tasks._engine.Job, "PartialResult": _worker_tasks._engine.PartialResult},
    )


def test_a_worker_with_another_version_is_rejected_by_name(client: Client) -> None:
    X = da.from_array(_samples(60, 4), chunks=(30, -1))
    worker = next(iter(client.scheduler_info()["workers"]))
    try:
        client.run(_pretend, "0.0.9", workers=[worker])
        with pytest.raises(ValueError, match=f"worker {worker} has steradian 0.0.9 but this process has"):
            AngularEmbedding(2, n_directions=20).fit(X)
    finally:
        client.restart_workers([worker])
    # A worker that joins later checks the version of the job.
    job = _worker_tasks.SerializedJob(steradian._engine.Job.mean(4).to_bytes(), "0.0.9")
    part = _worker_tasks.Part(0, 0, _worker_tasks.PartInfo(9, 4, "float64"))
    assert "install one version" in str(_worker_tasks.sum_part(_samples(9, 4), job, part))


def _hide_the_package() -> None:
    """Simulates a process that cannot import the package."""
    for name in [name for name in sys.modules if name.split(".")[0] == "steradian"]:
        sys.modules[name] = None  # type: ignore[assignment]


def test_a_worker_without_the_package_is_rejected_by_name(client: Client) -> None:
    X = da.from_array(_samples(60, 4), chunks=(30, -1))
    worker = next(iter(client.scheduler_info()["workers"]))
    client.run(_worker_tasks.version)  # so that the package is loaded
    try:
        client.run(_hide_the_package, workers=[worker])
        with pytest.raises(
            TypeError, match=f"worker {worker} cannot import the package steradian .* install steradian"
        ):
            AngularEmbedding(2, n_directions=20).fit(X)
    finally:
        client.restart_workers([worker])


def _load(path: str, first: int, last: int) -> np.ndarray:
    time.sleep(0.02)  # the time of a disk
    return np.load(path, mmap_mode="r")[first:last]


def test_a_killed_worker_does_not_change_the_bytes(client: Client, tmp_path: Path) -> None:
    X = (_samples(800) * 4 + 100).clip(0, 255).astype(np.uint8)
    np.save(tmp_path / "X.npy", X)
    parts = [
        da.from_delayed(dask.delayed(_load)(str(tmp_path / "X.npy"), first, first + 200), (200, 12), np.uint8)
        for first in range(0, 800, 200)
    ]
    lazy = da.concatenate(parts)
    model = AngularEmbedding(2, method="angular")
    calm = _bytes(model.fit(lazy))
    for when in (2, model.n_passes_ - 2):
        victim = sorted(client.run(os.getpid).values())[0]
        killer = threading.Timer(0.03, os.kill, (victim, signal.SIGKILL))

        def kill(progress: steradian.Progress, when: int = when, killer: threading.Timer = killer) -> None:
            if progress.pass_number == when:
                killer.start()

        fit = AngularEmbedding(2, method="angular").fit(lazy, callback=kill)
        killer.join()
        assert _bytes(fit) == calm
        client.wait_for_workers(2, timeout=120)
        assert victim not in client.run(os.getpid).values()


def test_a_closed_client_is_a_clear_error(tmp_path: Path) -> None:
    cluster = _cluster(1)
    client = Client(cluster)
    lazy = da.from_array(_samples(100, 4), chunks=(50, -1))
    model = AngularEmbedding(2, method="angular")
    try:
        with pytest.raises(ConnectionError, match="fit again"):
            model.fit(lazy, callback=lambda progress: client.close() if progress.pass_number == 3 else None)
        assert not hasattr(model, "components_")
    finally:
        client.close()
        cluster.close()


def test_a_cluster_without_workers_warns_and_fails_after_its_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steradian.dask._PATIENCE", 0.2)
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"}),
        _cluster(1) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(1, timeout=120)
        model = AngularEmbedding(2, method="angular")

        def leave(progress: steradian.Progress) -> None:
            if progress.pass_number == 2:
                cluster.scale(0)

        lazy = da.from_array(_samples(100, 4), chunks=(50, -1))
        with (
            pytest.warns(UserWarning, match="no workers during pass"),
            pytest.raises(ConnectionError, match=r"lost the Dask cluster during pass \d+ .*fit again"),
        ):
            model.fit(lazy, callback=leave)
        assert not hasattr(model, "components_")


def test_a_scheduler_that_stops_during_a_pass(tmp_path: Path) -> None:
    cluster = _cluster(1)
    client = Client(cluster)
    slow = da.from_delayed(dask.delayed(_slow)(), (50, 4), np.float64)
    closer = threading.Timer(0.3, cluster.close)
    closer.start()
    try:
        with pytest.raises(ConnectionError, match=r"lost the Dask cluster during pass 1 .*fit again"):
            AngularEmbedding(2, n_directions=20).fit(slow)
    finally:
        closer.join()
        client.close()


def _slow() -> np.ndarray:
    time.sleep(3)
    return np.ones((50, 4))
