"""Baselines: results against NumPy and scikit-learn, the two parts of pcp, errors."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA as TheirPCA

import steradian
from steradian import EMPCA, AngularEmbedding, GrassmannAverage, PrincipalComponentPursuit


def split(seed: int = 0, shape: tuple[int, int] = (60, 40)) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of rank 2, and its copy with 5 % bad cells."""
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    return low, low + np.where(rng.random(shape) < 0.05, rng.uniform(-9, 9, shape), 0)


def angle(a: np.ndarray, b: np.ndarray) -> float:
    """The sine of the largest principal angle between the spans of orthonormal rows."""
    return float(np.linalg.norm(a - a @ b.T @ b, 2))


def test_em_pca_is_pca(table: np.ndarray) -> None:
    ours, theirs = EMPCA(2, tol=1e-10).fit(table), TheirPCA(2).fit(table)
    assert angle(theirs.components_, ours.components_) < 1e-8
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-8)
    assert ours.converged_
    assert ours.n_iter_ < ours.n_passes_


def test_em_on_the_sphere_is_the_angular_embedding(table: np.ndarray) -> None:
    ours, direct = EMPCA(2, on_sphere=True, tol=1e-10).fit(table), AngularEmbedding.paper(2).fit(table)
    assert angle(direct.components_, ours.components_) < 1e-6


def test_the_grassmann_average_is_a_fixed_point(table: np.ndarray) -> None:
    q = GrassmannAverage(1, trim=0.5, tol=1e-9).fit(table).components_[0]
    centered = table - table.mean(axis=0)
    average = np.median(np.sign(centered @ q)[:, None] * centered, axis=0)
    np.testing.assert_allclose(np.abs(average @ q) / np.linalg.norm(average), 1, atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 40), (30, 70)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_both_parts_are_found(shape: tuple[int, int], dtype: str) -> None:
    low, mixed = split(shape=shape)
    model = PrincipalComponentPursuit(2, center="none").fit(mixed.astype(dtype))
    assert model.low_rank_.dtype == model.sparse_.dtype == dtype
    np.testing.assert_allclose(model.low_rank_ + model.sparse_, mixed, atol=1e-4)
    np.testing.assert_allclose(model.low_rank_, low, atol=1e-2)
    assert model.residual_ < 1e-7
    assert model.converged_
    assert angle(np.linalg.svd(low)[2][:2], model.components_) < 1e-3


def test_the_parts_of_the_command_line(program: str, tmp_path: Path) -> None:
    mixed = split()[1].reshape(60, 8, 5)
    np.save(tmp_path / "x.npy", mixed)
    parts = ["--low-rank", tmp_path / "low.npy", "--sparse", tmp_path / "sparse.npy"]
    command = [program, "fit", tmp_path / "x.npy", "-o", tmp_path / "model", "--method", "pcp", "--json", *parts]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ours = PrincipalComponentPursuit(2).fit(mixed)
    np.testing.assert_array_equal(np.load(tmp_path / "low.npy"), ours.low_rank_.reshape(mixed.shape))
    np.testing.assert_array_equal(np.load(tmp_path / "sparse.npy"), ours.sparse_.reshape(mixed.shape))
    assert (tmp_path / "model").read_bytes() == ours._model.to_bytes()
    assert report["solver"] is None
    assert report["sine_bound"] is None
    loaded = steradian.load(tmp_path / "model")
    assert isinstance(loaded, PrincipalComponentPursuit)
    assert not hasattr(loaded, "low_rank_")


def test_rejected_parameters(table: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"needs about .* with method pcp on one thread but may use 1.0 KiB"):
        PrincipalComponentPursuit(memory_limit=1024).fit(table)
    with pytest.raises(ValueError, match=r"trim = 0\.8"):
        GrassmannAverage(trim=0.8).fit(table)
    with pytest.raises(ValueError, match="requires an integer number of components"):
        EMPCA("auto").fit(table)
    with pytest.warns(UserWarning, match="1 instead of 3 components: the low-rank part has rank 1"):
        PrincipalComponentPursuit(3, center="none").fit(np.outer(np.arange(1, 30.0), np.ones(20)))


def test_steps_are_reported(table: np.ndarray) -> None:
    seen = []
    PrincipalComponentPursuit(2).fit(table, callback=seen.append)
    assert any(re.fullmatch(r"pursuit step \d+: \d\.\de-?\d+, rank \d+", progress.name) for progress in seen)
