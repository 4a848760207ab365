"""Screens without a decomposition."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import oracle
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from steradian import AngularEmbedding, ConeScreen, OutlyingnessScreen


@pytest.mark.parametrize("screen", [ConeScreen(45), OutlyingnessScreen()])
def test_new_samples_are_measured_as_those_of_the_fit(
    table: np.ndarray, screen: ConeScreen | OutlyingnessScreen
) -> None:
    found = screen.fit_predict(table)
    np.testing.assert_array_equal(found, np.where(screen.support_, 1, -1))
    np.testing.assert_array_equal(screen.predict(table), found)
    scores = screen.score_samples(table)
    np.testing.assert_array_equal(scores >= screen.offset_, screen.support_)
    np.testing.assert_array_equal(screen.decision_function(table) >= 0, screen.support_)
    np.testing.assert_allclose(screen.score_samples(table[7:19]), scores[7:19])
    again = pickle.loads(pickle.dumps(screen))
    np.testing.assert_array_equal(again.score_samples(table), scores)


def test_the_cone_is_that_of_the_paper(table: np.ndarray) -> None:
    screen = ConeScreen(60, center="mean").fit(table)
    paper = AngularEmbedding.paper(2, 60).fit(table)
    assert screen.pivot_ == paper.pivot_
    np.testing.assert_array_equal(screen.tau_, paper.tau_)
    np.testing.assert_array_equal(screen.support_, paper.support_)
    unit, _ = oracle.directions(table, table.mean(axis=0))
    angles = np.rad2deg(np.arccos(np.abs(unit @ unit[screen.pivot_]).clip(0, 1)))
    np.testing.assert_allclose(-screen.score_samples(table), angles, atol=1e-5)
    signed = ConeScreen(60, center="mean", cosine="signed").fit(table)
    assert -signed.score_samples(table).min() > 90


@pytest.mark.parametrize(
    "case", ["05_tae_tied_tau", "06_tae_boundary_60deg", "07_tae_abs_eta60", "08_tae_signed_eta60"]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_golden_cones(golden: Path, case: str) -> None:
    folder = golden / case
    meta = json.loads((folder / "meta.json").read_text())
    options = meta["config"]
    screen = ConeScreen(options["eta_deg"], center=options["center"], cosine=options["mode"]).fit(folder / "X.npy")
    np.testing.assert_array_equal(screen.tau_, np.load(folder / "tau.npy"))
    np.testing.assert_array_equal(screen.support_, np.load(folder / "kept.npy").astype(bool))
    assert screen.pivot_ == meta["pivot"]


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.45])
def test_outlyingness_finds_outliers_of_any_kind(fraction: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * [5, 3, 1, 1, 0.1]
    outlier = np.arange(400) < fraction * 400
    X[outlier] += [0, 0, 0, 0, 8]
    screen = OutlyingnessScreen().fit(X)
    assert not screen.support_[outlier].any()
    assert screen.support_[~outlier].mean() > 0.9
    assert screen.outlyingness_[outlier].min() > screen.outlyingness_[~outlier].max()
    assert screen.predict(np.array([[0.0, 0, 0, 0, 0], [0, 0, 0, 0, 9]])).tolist() == [1, -1]


def test_more_than_half_on_a_plane() -> None:
    """Integers, so that some pairs of samples are orthogonal to the hyperplane."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, (100, 2)).astype(float)
    X[:70, 0] = 0
    X[70:, 0] += 3
    with pytest.warns(UserWarning, match="lie on a hyperplane"):
        screen = OutlyingnessScreen(2000).fit(X)
    assert screen.support_[:70].all()
    assert not screen.support_[70:].any()
    assert np.isposinf(screen.outlyingness_[70:]).all()


def test_before_another_estimator() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(300)
    X[:60], y[:60] = 9 + 0.1 * rng.standard_normal((60, 3)), 40
    inlier = OutlyingnessScreen().fit(np.column_stack([X, y])).support_
    np.testing.assert_allclose(LinearRegression().fit(X[inlier], y[inlier]).coef_, [1, -2, 0.5], atol=0.1)
    assert np.abs(LinearRegression().fit(X, y).coef_ - [1, -2, 0.5]).max() > 1


def test_samples_at_the_center_are_outliers() -> None:
    X = np.vstack([np.zeros((2, 3)), np.eye(3), [[1, 0.1, 0], [1, 0, 0.1]]])
    screen = ConeScreen(45, center="none").fit(X)
    assert screen.fit_predict(X)[:2].tolist() == [-1, -1]
    assert np.isneginf(screen.score_samples(X)[:2]).all()
    assert screen.tau_[:2].tolist() == [8, 8]


def test_rejected_parameters(table: np.ndarray) -> None:
    with pytest.raises(ValueError, match="max_angle = 91 degrees; expected an angle above 0 and at most 90"):
        ConeScreen(91).fit(table)
    with pytest.raises(ValueError, match="n_directions = 0 is not supported; expected an integer >= 1"):
        OutlyingnessScreen(0).fit(table)
    with pytest.raises(ValueError, match="center = 'top' is not supported"):
        ConeScreen(center="top").fit(table)
    for screen in (ConeScreen(), OutlyingnessScreen()):
        with pytest.raises(NotFittedError):
            screen.score_samples(table)
        with pytest.raises(ValueError, match="X has 5 features"):
            screen.fit(table).predict(table[:, :5])
        with pytest.raises(ValueError, match="NaN"):
            screen.fit(np.where(table > 9, np.nan, table))
        assert not hasattr(screen, "support_")
