"""Model files: Python and the command line write identical bytes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import steradian
from steradian import EMPCA, PCA, AngularEmbedding, GrassmannAverage

SAME = [
    (["--method", "ae"], AngularEmbedding.paper(2)),
    (["--method", "tae", "--max-angle", "75"], AngularEmbedding.paper(2, 75)),
    (["--method", "angular"], AngularEmbedding(2, method="angular")),
    (["--method", "robust", "--seed", "7"], AngularEmbedding(2, random_state=7)),
    (["--method", "cells"], AngularEmbedding(2, method="cells")),
    (["--method", "rows"], AngularEmbedding(2, method="rows")),
    (["--method", "robust", "--scaling", "mad", "-d", "auto"], AngularEmbedding("auto", scaling="mad")),
    (["--n-directions", "99", "--tol", "1e-5"], AngularEmbedding(2, n_directions=99, tol=1e-5)),
    (
        ["--method", "angular", "--center", "mean", "--robust-scores"],
        AngularEmbedding(2, method="angular", center="mean", robust_scores=True),
    ),
    (["--method", "tae", "--exact", "--recenter"], AngularEmbedding(2, method="tae", exact=True, recenter=True)),
    (["--method", "pca", "--missing", "error"], PCA(2)),
    (["--method", "empca"], EMPCA(2)),
    (["--method", "emae", "--tol", "1e-3"], EMPCA(2, on_sphere=True, tol=1e-3)),
    (["--method", "ga"], GrassmannAverage(2, trim=0.0)),
    (["--method", "tga", "--trim", "0.1", "--seed", "3"], GrassmannAverage(2, trim=0.1, random_state=3)),
]


def run(*command: object) -> str:
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize(("options", "estimator"), SAME, ids=[" ".join(options) for options, _ in SAME])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_same_bytes_as_the_command_line(
    program: str, table: np.ndarray, tmp_path: Path, options: list[str], estimator: AngularEmbedding, dtype: str
) -> None:
    X = np.clip(4 * table + 100, 0, 255).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    d = [] if "-d" in options else ["-d", 2]
    run(program, "fit", tmp_path / "x.npy", "-o", tmp_path / "theirs", *options, *d)
    estimator.fit(X).save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()

    # Each reads the file of the other.
    shown = json.loads(run(program, "inspect", tmp_path / "ours", "--json"))
    assert shown["n_support"] == estimator.support_.sum()
    run(program, "transform", tmp_path / "ours", tmp_path / "x.npy", "-o", tmp_path / "scores.npy")
    theirs = steradian.load(tmp_path / "theirs")
    scores = np.load(tmp_path / "scores.npy")
    np.testing.assert_array_equal(theirs.transform(X), scores)
    assert theirs.transform(X).dtype == scores.dtype
    theirs.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("options", "estimator"), SAME, ids=[" ".join(options) for options, _ in SAME])
def test_a_loaded_model_has_the_parameters_of_its_fit(
    table: np.ndarray, tmp_path: Path, options: list[str], estimator: AngularEmbedding
) -> None:
    estimator.fit(table).save(tmp_path / "model")
    loaded = type(estimator).load(tmp_path / "model")
    assert loaded.get_params() == estimator.get_params()
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        np.testing.assert_equal(getattr(loaded, name), getattr(estimator, name), err_msg=f"{name} of {options}")
    assert loaded.fit(table)._model.to_bytes() == estimator._model.to_bytes()


def test_a_given_center_is_loaded(table: np.ndarray, tmp_path: Path) -> None:
    point = np.arange(6.0)
    AngularEmbedding.paper(2).set_params(center=point).fit(table).save(tmp_path / "model")
    np.testing.assert_array_equal(AngularEmbedding.load(tmp_path / "model").center, point)


def test_frames_of_a_clip_are_the_command_lines_images(program: str, tmp_path: Path) -> None:
    clip = np.random.default_rng(0).integers(0, 255, (30, 5, 7), dtype=np.uint8)
    np.save(tmp_path / "clip.npy", clip)
    run(program, "fit", tmp_path / "clip.npy", "-o", tmp_path / "theirs", "--method", "ae", "-d", 2)
    for X in (clip, tmp_path / "clip.npy", np.asfortranarray(clip), clip[:, ::-1][:, ::-1]):
        AngularEmbedding.paper(2).fit(X).save(tmp_path / "ours")
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_the_wrong_class_is_an_error_that_names_the_right_one(table: np.ndarray, tmp_path: Path) -> None:
    PCA(2).fit(table).save(tmp_path / "pca")
    AngularEmbedding.paper(2).fit(table).save(tmp_path / "ae")
    assert AngularEmbedding.load(tmp_path / "pca").method == "pca"
    with pytest.raises(ValueError, match=r"method ae; use steradian\.AngularEmbedding\.load"):
        PCA.load(tmp_path / "ae")
    assert isinstance(steradian.load(tmp_path / "pca"), PCA)
    EMPCA(2).fit(table).save(tmp_path / "empca")
    for other in (AngularEmbedding, GrassmannAverage):
        with pytest.raises(ValueError, match=r"method empca; use steradian\.load"):
            other.load(tmp_path / "empca")
    assert isinstance(steradian.load(tmp_path / "empca"), EMPCA)


def test_files_that_are_not_models(table: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        steradian.load(tmp_path / "absent")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match=r"text: not a steradian model"):
        steradian.load(tmp_path / "text")
    with pytest.raises(NotFittedError):
        PCA(2).save(tmp_path / "unfitted")
    assert not (tmp_path / "unfitted").exists()
    with pytest.raises(OSError, match="cannot be written"):
        PCA(2).fit(table).save(tmp_path / "no folder" / "model")


def test_the_number_of_threads_does_not_matter(table: np.ndarray) -> None:
    made = {AngularEmbedding(2, n_jobs=n).fit(table)._model.to_bytes() for n in (1, 2, 3, -1, None)}
    assert len(made) == 1


def test_a_table_with_options(program: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"s{i},{a:.6f},{b:.6f},{c:.6f},x" for i, (a, b, c) in enumerate(rng.standard_normal((40, 3)))]
    lines[7] = "s7,1.0,,2.0,x"
    (tmp_path / "t.csv").write_text("\n".join(["name,a,b,c,kind", *lines]) + "\n")
    options = ["--columns", "a,c,b", "--missing", "drop", "--row-names"]
    run(program, "fit", tmp_path / "t.csv", "-o", tmp_path / "theirs", "-d", 1, "--method", "ae", *options)
    data = steradian.open(tmp_path / "t.csv", columns=["a", "c", "b"], missing="drop", row_names=True)
    assert data.shape == (39, 3)
    assert data.feature_names == ["a", "c", "b"]
    assert data.dropped_rows == [7]
    model = AngularEmbedding.paper(1).fit(data)
    model.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert list(model.feature_names_in_) == ["a", "c", "b"]
    with pytest.raises(ValueError, match=r'column "b" is missing .*; steradian.open\(path, missing="drop"\) skips'):
        steradian.open(tmp_path / "t.csv", columns=["a", "b"], missing="error")
    with pytest.raises(
        ValueError, match=r'is not numeric; use steradian.open\(path, columns=\["a", "b", "c"\]\)'
    ) as text:
        steradian.open(tmp_path / "t.csv")
    assert "--" not in str(text.value)
    with pytest.raises(ValueError, match=r"missing = .fill. is not supported; expected .use., .drop., .error."):
        steradian.open(tmp_path / "t.csv", missing="fill")


def test_decoded_frames_have_a_limit(tmp_path: Path) -> None:
    for frame in range(3):
        (tmp_path / f"{frame}.pgm").write_bytes(b"P5\n4 2\n255\n" + bytes(range(frame, frame + 8)))
    assert steradian.open(tmp_path, max_decoded=24).shape == (3, 8)
    with pytest.raises(ValueError, match=r"exceeds the limit of 23 bytes; use steradian\.open\(path, max_decoded="):
        steradian.open(tmp_path, max_decoded=23)


def test_a_header_of_numbers_is_read_on_request(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1100,1102\n1,2\n3,5\n4,4\n")
    assert steradian.open(tmp_path / "t.csv").shape == (4, 2)
    named = steradian.open(tmp_path / "t.csv", header="yes")
    assert (named.shape, named.feature_names) == ((3, 2), ["1100", "1102"])
    with pytest.raises(ValueError, match="header = 'maybe' is not supported; expected 'auto', 'yes' or 'no'"):
        steradian.open(tmp_path / "t.csv", header="maybe")


def test_exact_is_the_command_lines(program: str, table: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", table)
    tae = ["--method", "tae", "--max-angle", "75", "-d", 2]
    run(program, "fit", tmp_path / "x.npy", "-o", tmp_path / "theirs", *tae, "--exact")
    AngularEmbedding(2, method="tae", max_angle=75, exact=True).fit(table).save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    shown = json.loads(run(program, "inspect", tmp_path / "ours", "--json"))
    assert shown["parameters"]["pivot_search"] == "exact"
    assert shown["parameters"]["exact"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scores_are_robust_where_the_model_says_so(program: str, tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 40)) * 5 + 0.05 * rng.standard_normal((200, 40))
    X[np.arange(200), rng.integers(0, 40, 200)] += 50
    X = X.astype(dtype)
    np.save(tmp_path / "x.npy", X)
    for options, is_robust in [(["--robust-scores"], True), ([], False)]:
        run(program, "fit", tmp_path / "x.npy", "-o", tmp_path / "model", "-d", 2, "--method", "angular", *options)
        run(program, "transform", tmp_path / "model", tmp_path / "x.npy", "-o", tmp_path / "scores.npy")
        model = AngularEmbedding.load(tmp_path / "model")
        np.testing.assert_array_equal(model.transform(X), np.load(tmp_path / "scores.npy"))
        np.testing.assert_array_equal(model.transform(X), model.transform(X, robust_scores=is_robust))
        other = model.transform(X, robust_scores=not is_robust)
        assert np.abs(model.transform(X) - other).max() > 5


@pytest.mark.parametrize("method", ["robust", "rows", "cells", "angular", "ae", "tae", "pca"])
def test_none_is_the_value_of_the_preset(table: np.ndarray, tmp_path: Path, method: str) -> None:
    """The presets, written out; a model of all explicit values loads with all parameters at None."""
    cells = {"robust": "auto", "cells": "always", "rows": "never"}
    explicit: dict[str, Any] = {"tol": 1e-4 if method in cells else 1e-6}
    if method in cells:
        explicit |= {"screen": "outlyingness", "cells": cells[method], "n_directions": 250}
    else:
        explicit |= {"center": "spatial_median" if method == "angular" else "mean", "robust_scores": False}
    if method in ("angular", "ae", "tae"):
        explicit["screen"] = "cone" if method == "tae" else "none"
    preset = AngularEmbedding(2, method=method).fit(table)
    model = AngularEmbedding(2, method=method, **explicit).fit(table)
    assert model._model.to_bytes() == preset._model.to_bytes()
    model.save(tmp_path / "model")
    assert AngularEmbedding.load(tmp_path / "model").get_params() == AngularEmbedding(2, method=method).get_params()


def test_options_that_override_a_preset_are_loaded(table: np.ndarray, tmp_path: Path) -> None:
    model = AngularEmbedding(2, method="angular", screen="cone", max_angle=70.0, ties="density", tol=1e-5)
    model.fit(table).save(tmp_path / "model")
    loaded = AngularEmbedding.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert loaded.fit(table)._model.to_bytes() == model._model.to_bytes()


def test_former_values_of_cells(table: np.ndarray) -> None:
    always, never = AngularEmbedding(2, cells="always").fit(table), AngularEmbedding(2, cells="never").fit(table)
    assert AngularEmbedding(2, cells="clean").fit(table)._model.to_bytes() == always._model.to_bytes()
    assert AngularEmbedding(2, cells="keep").fit(table)._model.to_bytes() == never._model.to_bytes()
    np.testing.assert_array_equal(always.components_, AngularEmbedding(2, method="cells").fit(table).components_)


def test_the_pca_preset_is_pca(table: np.ndarray) -> None:
    preset, pca = AngularEmbedding(2, method="pca").fit(table), PCA(2, missing="use").fit(table)
    assert preset._model.to_bytes() == pca._model.to_bytes()
    assert preset.angular_eigenvalues_ is None


def test_only_pca_has_a_mean(table: np.ndarray) -> None:
    np.testing.assert_array_equal(PCA(2).fit(table).mean_, PCA(2).fit(table).center_)
    for estimator in (AngularEmbedding(2), AngularEmbedding.paper(2), EMPCA(2), GrassmannAverage(2)):
        assert not hasattr(estimator.fit(table), "mean_")


def test_save_rejects_the_data_of_the_fit(tmp_path: Path) -> None:
    data = np.random.default_rng(0).normal(size=(40, 5))
    path = tmp_path / "x.npy"
    np.save(path, data)
    before = path.read_bytes()
    (tmp_path / "link.npy").symlink_to("x.npy")
    (tmp_path / "hard.npy").hardlink_to(path)
    mapped = np.load(path, mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    for source in [
        path,
        str(path),
        steradian.open(path),
        tmp_path / "link.npy",
        mapped,
        mapped[:, 1:],
        np.asarray(mapped),
    ]:
        model = PCA(2).fit(source)
        for target in ["x.npy", "link.npy", "hard.npy", "../" + tmp_path.name + "/x.npy"]:
            with pytest.raises(ValueError, match="this output is also the input"):
                model.save(tmp_path / target)
        assert path.read_bytes() == before
        model.save(tmp_path / "model.safetensors")
    # A model that was loaded may replace its file, and arrays in memory have no file.
    steradian.load(tmp_path / "model.safetensors").save(tmp_path / "model.safetensors")
    PCA(2).fit(data).save(path)
    assert path.read_bytes() != before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["hard.npy", "link.npy", "model.safetensors", "x.npy"]


def test_save_rejects_an_image_of_the_folder_of_the_fit(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for frame in range(8):
        (folder / f"{frame}.pgm").write_bytes(b"P5\n4 3\n255\n" + rng.integers(0, 255, 12, dtype=np.uint8).tobytes())
    model = PCA(1).fit(folder)
    for target in [folder / "3.pgm", folder / "new.png", folder]:
        with pytest.raises(ValueError, match="this output is also"):
            model.save(target)
    model.save(folder / "model.safetensors")
    assert len(list(folder.iterdir())) == 9
