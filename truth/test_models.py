"""The models: their shapes, their truth, and the numbers that published figures were made from.

Usage: python -m unittest discover truth        (`make truth` runs it first)
"""

from __future__ import annotations

import importlib.util
import os
import unittest
from pathlib import Path

import numpy as np

from angles import largest_angle
from models import CASES, sample

REFERENCE = "STERADIAN_REFERENCE"
"""The environment variable that names the folder of the reference scripts."""


class Models(unittest.TestCase):
    """What every case must satisfy."""

    def test_the_basis_is_orthonormal_and_near_the_good_rows(self) -> None:
        for name in [case for case in CASES if not case.startswith(("t_", "cell_", "low_", "high_"))]:
            data = sample(name, 3)
            good = data.points[~data.outlier]
            found = np.linalg.svd(good - good.mean(0), full_matrices=False)[2][: data.components]
            np.testing.assert_allclose(data.basis.T @ data.basis, np.eye(data.components), atol=1e-12)
            self.assertLess(largest_angle(data.basis, found), 4, name)

    def test_the_share_of_outliers_is_the_one_in_the_name(self) -> None:
        for name in CASES:
            kind, share, *_ = name.split("_")
            wanted = 0 if kind in ("t", "cell") else float(share)
            self.assertAlmostEqual(sample(name, 1).outlier.mean(), wanted, msg=name)

    def test_variances_are_those_of_the_good_rows(self) -> None:
        for name in ("clu_0.2_15_3", "lin_0.2_15_3", "shift_0.1_1000", "hay_0.3_1", "low_0.2_12_1", "high_0.2_20_1"):
            ratios = []
            for seed in range(40):
                data = sample(name, seed)
                scores = data.points[~data.outlier] @ data.basis
                ratios.append(scores.var(0, ddof=1) / data.variances)
            np.testing.assert_allclose(np.mean(ratios, axis=0), 1, atol=0.15, err_msg=name)

    def test_seeds_differ_and_repeat(self) -> None:
        first, again, other = (sample("clu_0.3_15_3", seed).points for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        self.assertGreater(np.abs(first - other).max(), 1)

    def test_same_numbers_as_the_reference(self) -> None:
        script = Path(os.environ.get(REFERENCE, "")) / "contamination.py"
        if not script.is_file():
            self.skipTest(f"{REFERENCE} names no folder with contamination.py")
        spec = importlib.util.spec_from_file_location("reference_models", script)
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
    """The figure that is reported."""

    def test_known_angles(self) -> None:
        plane = np.eye(4)[:, :2]
        for degrees in (0, 1e-6, 1, 45, 89, 90):
            turn = np.radians(degrees)
            turned = np.array([[1, 0, 0, 0], [0, np.cos(turn), np.sin(turn), 0]])
            self.assertAlmostEqual(largest_angle(plane, turned), degrees, places=7)

    def test_signs_and_order_do_not_matter(self) -> None:
        data = sample("clu_0.1_15_3", 0)
        self.assertLess(largest_angle(data.basis, -data.basis.T[::-1]), 1e-6)


if __name__ == "__main__":
    unittest.main()
