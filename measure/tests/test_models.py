"""The contamination models: shapes, ground truth, and the numbers of the reference scripts."""

from __future__ import annotations

import importlib.util
import os
import unittest
from pathlib import Path
from types import ModuleType

import numpy as np

from measure.accuracy import a09
from measure.accuracy.cases import KNOWN, LEGEND, MISSING, NEW, kind_of, sample
from measure.angles import largest_angle, largest_sine

REFERENCE = "STERADIAN_REFERENCE"
"""The environment variable that names the folder of the reference scripts."""


class Models(unittest.TestCase):
    """Properties of all cases."""

    def test_the_basis_is_orthonormal_and_near_the_inliers(self) -> None:
        for name in [case for case in KNOWN + NEW if not case.startswith(("t_", "low_", "high_", "a09_", "small_"))]:
            data = sample(name, 3)
            inliers = data.clean_points[~data.outlier]
            found = np.linalg.svd(inliers - inliers.mean(0), full_matrices=False)[2][: data.components]
            np.testing.assert_allclose(data.basis.T @ data.basis, np.eye(data.components), atol=1e-12)
            self.assertLess(largest_angle(data.basis, found), 8 if name.startswith("wide_") else 4, name)

    def test_the_fraction_of_outliers_is_the_one_in_the_name(self) -> None:
        place = {"both": 2, "small": 4, "wide": 2}
        for name in [*KNOWN, *NEW]:
            if kind_of(name) in ("t", "cell", "a09"):
                continue
            expected = float(name.split("_")[place.get(kind_of(name), 1)])
            self.assertAlmostEqual(sample(name, 1).outlier.mean(), expected, msg=name)

    def test_bad_cells_are_where_the_data_differ_and_not_in_outliers(self) -> None:
        for name, expected in {
            "cell_0.1": 0.1,
            "both_0.2_0.2_15": 0.16,
            "wide_0.1_0.1": 0.09,
            "a09_20_cell20_5": 0.2,
            "a09_100_both_5": 0.09,
            "a09_20_row20_5": 0,
            "near_0.3_1_0.3": 0,
        }.items():
            data = sample(name, 2)
            np.testing.assert_array_equal(data.points != data.clean_points, data.bad_cells, err_msg=name)
            self.assertAlmostEqual(data.bad_cells.mean(), expected, delta=0.01, msg=name)
            self.assertFalse(data.bad_cells[data.outlier].any(), name)

    def test_outliers_and_bad_cells_of_a09_are_as_far_as_the_name_says(self) -> None:
        data, clean = sample("a09_20_both_10", 0), sample("a09_20_clean_0", 0)
        self.assertEqual(data.outlier.sum(), 10)
        directions, eigenvalues = a09.spectrum(20)
        np.testing.assert_allclose(data.points[data.outlier].mean(0) @ directions[:, 6], 20, atol=2)
        deviations = np.sqrt((directions**2) @ eigenvalues)
        np.testing.assert_allclose((data.points / deviations)[data.bad_cells], 10)
        np.testing.assert_array_equal(data.bad_cells.sum(0), 9)
        variances = np.mean([sample("a09_20_clean_0", seed).points.var(0, ddof=1) for seed in range(40)], axis=0)
        np.testing.assert_allclose(variances / deviations**2, 1, atol=0.1)
        self.assertEqual(clean.components, 6)

    def test_missing_cells_are_a_fifth_and_nan(self) -> None:
        for name in MISSING:
            data = sample(name, 1)
            assert data.missing is not None
            self.assertAlmostEqual(data.missing.mean(), 0.2, delta=0.02)
            np.testing.assert_array_equal(np.isnan(data.observed), data.missing)
        data = sample("cell_0.1", 1)
        self.assertIs(data.observed, data.points)

    def test_variances_are_those_of_the_inliers(self) -> None:
        for name in ("clu_0.2_15_3", "lin_0.2_15_3", "shift_0.1_1000", "hay_0.3_1", "low_0.2_12_1", "high_0.2_20_1"):
            ratios = []
            for seed in range(40):
                data = sample(name, seed)
                scores = data.points[~data.outlier] @ data.basis
                ratios.append(scores.var(0, ddof=1) / data.true_variances)
            np.testing.assert_allclose(np.mean(ratios, axis=0), 1, atol=0.15, err_msg=name)

    def test_seeds_differ_and_repeat(self) -> None:
        first, again, other = (sample("clu_0.3_15_3", seed).points for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        self.assertGreater(np.abs(first - other).max(), 1)

    def test_the_legend_has_the_sizes_of_all_kinds(self) -> None:
        self.assertEqual(LEGEND.keys(), set(map(kind_of, KNOWN + NEW)))
        for name in [*KNOWN, *NEW, *MISSING]:
            data, size = sample(name, 0), LEGEND[name.split("_")[0]][1]
            n, features = data.points.shape
            self.assertTrue(size.startswith((f"{n} x {features}", f"{n} x D")), name)
            if "d = " in size:
                self.assertTrue(size.endswith(f"d = {data.components}"), name)

    def test_same_numbers_as_the_reference(self) -> None:
        folder = Path(os.environ.get(REFERENCE, ""))
        if not (folder / "models2.py").is_file():
            self.skipTest(f"{REFERENCE} names no folder with contamination.py and models2.py")
        reference = load_script(folder / "models2.py")
        self.assertEqual(list(reference.contamination.CASES), KNOWN)
        self.assertEqual(list(reference.CASES), NEW)
        self.assertLess(set(reference.GAPS), set(MISSING))
        for name in [*KNOWN, *NEW, *MISSING]:
            for seed in (0, 1, 19, 200):
                theirs, ours = reference.make(name, seed), sample(name, seed)
                arrays = {"X": ours.points, "B": ours.basis, "y": ours.outlier, "M": ours.bad_cells}
                for key, array in (arrays | {"Xc": ours.clean_points, "d": ours.components}).items():
                    np.testing.assert_array_equal(array, theirs[key], err_msg=f"{name} {key}")
                np.testing.assert_array_equal(ours.missing, theirs.get("NA"), err_msg=name)
        for name in ("clu_0_15_3", "hay_0_1", "cell_0"):
            points, basis, _, outlier = reference.contamination.gen(name, 5)
            np.testing.assert_array_equal(sample(name, 5).points, points, err_msg=name)
            np.testing.assert_array_equal(sample(name, 5).basis, basis, err_msg=name)
            self.assertFalse(outlier.any())


def load_script(path: Path) -> ModuleType:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location("reference_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Angles(unittest.TestCase):
    """The largest principal angle."""

    def test_known_angles(self) -> None:
        plane = np.eye(4)[:, :2]
        for degrees in (0, 1e-6, 1, 45, 89, 90):
            turn = np.radians(degrees)
            turned = np.array([[1, 0, 0, 0], [0, np.cos(turn), np.sin(turn), 0]])
            self.assertAlmostEqual(largest_angle(plane, turned), degrees, places=7)
            self.assertAlmostEqual(largest_sine(turned, plane.T), np.sin(turn), places=12)

    def test_signs_and_order_do_not_matter(self) -> None:
        data = sample("clu_0.1_15_3", 0)
        self.assertLess(largest_angle(data.basis, -data.basis.T[::-1]), 1e-6)


if __name__ == "__main__":
    unittest.main()
