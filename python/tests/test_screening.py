"""The default estimator on contaminated data: accurate subspace, outliers detected."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from steradian import PCA, AngularEmbedding


def contaminated(fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples near a subspace of 3 in 20 dimensions with a cluster of outliers, their mask, and the subspace."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((20, 3)))[0].T
    X = (rng.standard_normal((300, 3)) * [5, 4, 3]) @ basis + 0.3 * rng.standard_normal((300, 20))
    outlier = np.arange(300) < fraction * 300
    X[outlier] = 15 * rng.standard_normal(20) + 0.5 * rng.standard_normal((outlier.sum(), 20))
    return X, outlier, basis


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_of_outliers(fraction: float, seed: int) -> None:
    X, outlier, basis = contaminated(fraction, seed)
    assert oracle.sine(PCA(3).fit(X).components_, basis) > 0.7
    model = AngularEmbedding(3).fit(X)
    assert oracle.sine(model.components_, basis) < np.sin(np.deg2rad(3.5))
    assert not model.support_[outlier].any()
    assert (model.predict(X[outlier]) == -1).all()
    assert (model.predict(X[~outlier]) == 1).mean() > 0.9
    diagnosis = model.diagnose(X)
    assert set(diagnosis.flag[outlier]) <= {"orthogonal", "bad_leverage"}
    assert set(diagnosis.worst(int(outlier.sum()))) == set(np.flatnonzero(outlier))


def test_diagnosis_is_the_formula(table: np.ndarray) -> None:
    model = AngularEmbedding(2, method="angular").fit(table)
    found = model.diagnose(table)
    away = table - model.center_
    scores = away @ model.components_.T
    residual = away - scores @ model.components_
    np.testing.assert_allclose(found.score_distance, np.sqrt((scores**2 / model.explained_variance_).sum(axis=1)))
    np.testing.assert_allclose(found.orthogonal_distance, np.linalg.norm(residual, axis=1), rtol=1e-6)
    sines = np.linalg.norm(residual, axis=1) / np.linalg.norm(away, axis=1)
    np.testing.assert_allclose(np.sin(np.deg2rad(found.angle_degrees)), sines, atol=1e-7)
    far, off = found.score_distance > found.score_cutoff, found.orthogonal_distance > found.orthogonal_cutoff
    named = np.array(["regular", "good_leverage", "orthogonal", "bad_leverage"])[far + 2 * off]
    np.testing.assert_array_equal(found.flag, named)
    np.testing.assert_array_equal(model.predict(table), np.where(far | off, -1, 1))
    np.testing.assert_allclose(found.contributions(), residual**2 / (residual**2).sum(axis=1)[:, None], atol=1e-9)
    np.testing.assert_array_equal(found.contributions([5, 190]), found.contributions()[[5, 190]])
    assert sum(found.counts().values()) == len(found) == 200
    frame = found.to_pandas()
    assert list(frame.columns) == ["score_distance", "orthogonal_distance", "angle_degrees", "flag"]
    assert frame.index.name == "sample"
    assert "200 samples" in repr(found)
    for wrong in ([200], [-1], [[0]], [0.5]):
        with pytest.raises(ValueError, match="indices"):
            found.contributions(wrong)


def test_bad_cells_are_marked(table: np.ndarray) -> None:
    bad = table.copy()
    bad[[3, 50, 120], [1, 0, 2]] += 40 * table.std()
    found = AngularEmbedding(2, method="cells").fit(bad).diagnose(bad)
    mask = found.bad_cells()
    assert mask.shape == bad.shape
    assert mask.dtype == bool
    assert mask[[3, 50, 120], [1, 0, 2]].all()
    assert mask.mean() < 0.1
    np.testing.assert_array_equal(found.bad_cells([50, 3]), mask[[50, 3]])
    with pytest.raises(ValueError, match='method="robust", "rows" or "cells", got method="ae"'):
        AngularEmbedding.paper(2).fit(table).diagnose(table).bad_cells()


def test_robust_scores_resist_bad_cells() -> None:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((40, 2)))[0].T
    scores = 5 * rng.standard_normal((200, 2))
    X = scores @ basis + 0.05 * rng.standard_normal((200, 40))
    model = AngularEmbedding(2, method="angular").fit(X)
    default = AngularEmbedding(2, method="angular", robust_scores=True).fit(X)
    clean = model.transform(X)
    X[np.arange(200), rng.integers(0, 40, 200)] += 50
    assert np.abs(model.transform(X) - clean).max() > 5
    assert np.abs(model.transform(X, robust_scores=True) - clean).max() < 0.5
    np.testing.assert_array_equal(default.transform(X), model.transform(X, robust_scores=True))
    np.testing.assert_array_equal(default.transform(X, robust_scores=False), model.transform(X))
    with pytest.raises(ValueError, match="robust_scores = False is not supported by method robust"):
        AngularEmbedding(2).fit(X).transform(X, robust_scores=False)


def test_cells_are_cleaned() -> None:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((20, 2)))[0].T
    X = (rng.standard_normal((300, 2)) * [6, 4]) @ basis + 0.1 * rng.standard_normal((300, 20))
    X[rng.random(X.shape) < 0.1] += 40
    assert oracle.sine(AngularEmbedding(2, method="rows").fit(X).components_, basis) > 0.1
    for method in ("robust", "cells"):
        assert oracle.sine(AngularEmbedding(2, method=method).fit(X).components_, basis) < 0.03


def test_the_number_of_components_is_found() -> None:
    X, _, _ = contaminated(0.2, 7)
    found = AngularEmbedding("auto").fit(X)
    assert found.n_components_ == 3
    assert found.transform(X).shape == (300, 3)
    assert "3" in found.n_components_reason_


def test_components_for_a_fraction_of_the_variance() -> None:
    X, _, _ = contaminated(0.0, 7)
    model = AngularEmbedding(0.9, method="angular").fit(X)
    assert model.n_components_ == 3
    assert model.explained_variance_ratio_.sum() >= 0.9
    assert AngularEmbedding(2, method="angular").fit(X).explained_variance_ratio_.sum() < 0.9
    assert AngularEmbedding(0.9).fit(X).explained_variance_ratio_.sum() >= 0.9
    assert model.n_components_reason_.startswith("3 components explain 0.9")
    assert model.n_components_reason_.endswith("at least 0.9")


def test_scaling_by_features() -> None:
    X, outlier, _ = contaminated(0.2, 3)
    units = 10.0 ** np.arange(-10, 10)
    model = AngularEmbedding(3, scaling="mad").fit(X * units)
    np.testing.assert_allclose(
        np.abs(model.components_), np.abs(AngularEmbedding(3, scaling="mad").fit(X).components_), atol=1e-6
    )
    assert not model.support_[outlier].any()
    np.testing.assert_allclose(
        model.scale_, 1.4826 * np.median(np.abs(X * units - np.median(X * units, 0)), 0), rtol=1e-4
    )
    back = model.inverse_transform(model.transform(X * units)) / units
    assert np.median(np.abs(back - X)[~outlier]) < 0.5
