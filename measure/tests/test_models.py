"""The contamination models: shapes, ground truth, and the numbers of the reference scripts."""

from __future__ import annotations

import importlib.util
import os
import unittest
from pathlib import Path

import numpy as np

from measure.accuracy.models import CASES, KINDS, LEGEND, sample
from measure.angles import largest_angle, largest_sine

REFERENCE = "STERADIAN_REFERENCE"
"""The environment variable that names the folder of the reference scripts."""


class Models(unittest.TestCase):
    """Properties of all cases."""

    def test_the_basis_is_orthonormal_and_near_the_inliers(self) -> None:
        for name in [case for case in CASES if not case.startswith(("t_", "cell_", "low_", "high_"))]:
            data = sample(name, 3)
            inliers = data.points[~data.outlier]
            found = np.linalg.svd(inliers - inliers.mean(0), full_matrices=False)[2][: data.components]
            np.testing.assert_allclose(data.basis.T @ data.basis, np.eye(data.components), atol=1e-12)
            self.assertLess(largest_angle(data.basis, found), 4, name)

    def test_the_fraction_of_outliers_is_the_one_in_the_name(self) -> None:
        for name in CASES:
            kind, fraction, *_ = name.split("_")
            expected = 0 if kind in ("t", "cell") else float(fraction)
            self.assertAlmostEqual(sample(name, 1).outlier.mean(), expected, msg=name)

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
        self.assertEqual(LEGEND.keys(), KINDS.keys())
        for name in CASES:
            data, size = sample(name, 0), LEGEND[name.split("_")[0]][1]
            n, features = data.points.shape
            self.assertTrue(size.startswith(f"{n} x {features}"), name)
            if "d = " in size:
                self.assertTrue(size.endswith(f"d = {data.components}"), name)

    def test_same_numbers_as_the_reference(self) -> None:
        script = Path(os.environ.get(REFERENCE, "")) / "contamination.py"
        if not script.is_file():
            self.skipTest(f"{REFERENCE} names no folder with contamination.py")
        spec = importlib.util.spec_from_file_location("reference_models", script)
        assert spec is not None
        assert spec.loader is not None
        reference = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(reference)
        self.assertEqual(list(reference.CASES), list(CASES))
        for name in [*CASES, "clu_0_15_3", "hay_0_1"]:
            for seed in range(20):
                points, basis, d, outlier = reference.gen(name, seed)
                ours = sample(name, seed)
                np.testing.assert_array_equal(ours.points, points, err_msg=name)
                np.testing.assert_array_equal(ours.basis, basis, err_msg=name)
                np.testing.assert_array_equal(ours.outlier, outlier == 1, err_msg=name)
                self.assertEqual(ours.components, d)


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
