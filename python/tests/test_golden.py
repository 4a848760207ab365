"""The golden cases: results of an independent float64 reference implementation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from steradian import AngularEmbedding

CASES = (
    "01_ae_n_gt_D",
    "02_ae_n_lt_D",
    "03_ae_d_eq_rank",
    "04_ae_zero_rows",
    "05_tae_tied_tau",
    "06_tae_boundary_60deg",
    "07_tae_abs_eta60",
    "08_tae_signed_eta60",
    "09_tae_recentre",
    "11_ae_f32_input",
    "12_ae_u8_video",
    "16_ae_spatial_median",
    "19_ae_huge_outlier",
    "21_ae_table1_seed0",
    "25_ae_near_zero_rows",
)


def estimator(meta: dict) -> AngularEmbedding:
    """The estimator of a case."""
    options = meta["config"]
    paper = AngularEmbedding.paper(meta["d"], options.get("eta_deg"))
    return paper.set_params(
        center=options["center"], cosine=options.get("mode", "abs"), recenter=options.get("recenter", False)
    )


@pytest.mark.parametrize("as_path", [False, True], ids=["array", "path"])
@pytest.mark.parametrize("case", CASES)
def test_case(golden: Path, case: str, as_path: bool) -> None:
    folder = golden / case
    meta = json.loads((folder / "meta.json").read_text())
    array = np.load(folder / "X.npy")
    X = folder / "X.npy" if as_path else array
    model = estimator(meta).fit(X)

    def near(what: str, found: np.ndarray, file: str) -> None:
        np.testing.assert_allclose(
            found, np.load(folder / file), rtol=0, atol=meta["tolerance"][what]["abs"], err_msg=f"{case}: {what}"
        )

    near("mean", model.center_, "mean.npy")
    near("Q", model.components_.T, "Q.npy")
    near("eig", model.angular_eigenvalues_, "eig.npy")
    # Scores of u8 and f32 data are f32; the tolerance of the cases is for values before that rounding.
    if array.dtype == np.float64:
        near("transform", model.transform(X), "transform.npy")
        near("recon", model.inverse_transform(model.transform(X)), "recon.npy")
    else:
        exact = (array.astype(float) - model.center_) @ model.components_.T
        np.testing.assert_allclose(model.transform(X), exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())
    np.testing.assert_array_equal(model.support_, np.load(folder / "kept.npy").astype(bool))
    if "eta_deg" in meta["config"]:
        np.testing.assert_array_equal(model.tau_, np.load(folder / "tau.npy"))
        assert model.pivot_ == meta["pivot"]
        assert model.tau_[model.pivot_] == meta["tau_min"]
    else:
        assert model.tau_ is None
        assert model.pivot_ is None


@pytest.mark.parametrize(
    ("case", "components", "words"),
    [
        ("90_err_all_identical", 1, "equal to the center"),
        ("91_n1", 1, r"1 sample\(s\)"),
        ("92_nan", 1, "NaN at row"),
        ("93_d_too_large", 50, r"n_components = 50 exceeds min\(n_samples, n_features\)"),
    ],
)
def test_errors(golden: Path, case: str, components: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AngularEmbedding.paper(components).fit(np.load(golden / case / "X.npy"))
