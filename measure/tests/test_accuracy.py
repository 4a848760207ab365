"""Measurements of accuracy with estimators whose result is known, and the tables that they are applied to."""

from __future__ import annotations

import tempfile
import unittest
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from measure import estimator
from measure.accuracy import cells, clean_data, diagnosis, large_tables, missing_rows, subspaces
from measure.accuracy.cases import sample
from measure.accuracy.classic_tables import read_numbers
from measure.accuracy.sample import Sample
from measure.arrays import Array
from measure.parallel import in_processes


class KnownFit(estimator.Fit):
    """A fit that knows the truth of a data set; filled cells are off by a given error."""

    def __init__(self, data: Sample, error: float = 0.0) -> None:
        super().__init__(None)
        self.data, self.error = data, error

    @property
    def components(self) -> Array:
        return np.asarray(self.data.basis.T)

    @property
    def variances(self) -> Array:
        assert self.data.true_variances is not None
        return np.asarray(1.25 * self.data.true_variances[::-1])

    def flags(self, points: Array, *, own: bool) -> estimator.Flags:
        no_flag = np.zeros(len(points), bool)
        return estimator.Flags(no_flag, self.data.outlier if own else ~no_flag)

    def bad_cells(self, points: Array, *, own: bool) -> Array:
        return self.data.bad_cells if own else np.zeros(points.shape, bool)

    def reconstructed(self, points: Array) -> Array:
        return np.asarray(points @ self.data.basis @ self.data.basis.T)

    def filled(self, points: Array) -> Array:
        return np.where(np.isnan(points), self.data.points + self.error, points)


def known(name: str, seed: int, error: float = 0.0) -> AbstractContextManager[object]:
    """Replaces fits by one that knows a data set."""
    return patch.object(estimator, "fit", return_value=KnownFit(sample(name, seed), error))


def refused() -> AbstractContextManager[object]:
    """Makes all fits fail."""
    return patch.object(estimator, "fit", side_effect=estimator.FitError("too few rows"))


class Measurements(unittest.TestCase):
    """Each measurement of a perfect estimator, and of one that rejects everything."""

    def test_the_truth_has_an_angle_of_zero(self) -> None:
        with known("both_0.1_0.2_15", 4):
            right, wrong = (subspaces.fit_all(["robust"], ("both_0.1_0.2_15", seed))["robust"] for seed in (4, 5))
        self.assertIsInstance(right, float)
        self.assertLess(float(right), 1e-6)
        self.assertGreater(float(wrong), 45)

    def test_a_rejected_fit_counts_as_90_degrees(self) -> None:
        with refused():
            found = subspaces.measure(["robust", "pca"], {"cell_0.1": range(2), "low_0_6_1": range(1)}, jobs=1)
        self.assertEqual(found.angles["pca"], {"cell_0.1": [90.0, 90.0], "low_0_6_1": [90.0]})
        self.assertEqual(found.rejected[0], "`robust` on cell_0.1, seed 0: too few rows")

    def test_missing_cells_reach_the_estimator_as_nan(self) -> None:
        given: list[tuple[float, str, int, int]] = []

        def fit(points: Array, method: str, components: int, *, seed: int) -> estimator.Fit:
            given.append((float(np.isnan(points).mean()), method, components, seed))
            raise estimator.FitError("seen")

        with patch.object(estimator, "fit", fit):
            subspaces.fit_all(["robust"], ("a09_20_bothNA_5", 7))
        self.assertAlmostEqual(given[0][0], 0.2, delta=0.03)
        self.assertEqual(given[0][1:], ("robust", 6, 7))

    def test_cells(self) -> None:
        with known("cell_0.1", 1):
            self.assertEqual(cells.flagged_cells(("cell_0.1", 1)), (1.0, 0.0))
            robust, projected = cells.reconstruction_errors(("cell_0.1", 1))
        self.assertAlmostEqual(robust, projected)
        self.assertTrue(60 < projected < 100, projected)

    def test_errors_of_filled_cells_are_in_units_of_the_noise(self) -> None:
        for name, noise in cells.COMPLETE.items():
            with known(name, 2, error=3 * noise):
                self.assertAlmostEqual(cells.fill_error((name, 2)), 3.0)

    def test_own_and_new_samples_have_separate_fractions(self) -> None:
        index = next(i for i, population in enumerate(clean_data.POPULATIONS) if population.samples == 200)
        with known("clu_0.3_15_3", 0):
            found = clean_data.fractions((index, False, 0))
        np.testing.assert_allclose(found, np.array([[0, 0], [0.3, 1], [0.3, 1]]))

    def test_rows_and_variances(self) -> None:
        with known("clu_0.2_15_3", 3):
            self.assertEqual(diagnosis.flagged_rows(("clu_0.2_15_3", 3)), (1.0, 0.0))
            np.testing.assert_allclose(diagnosis.variance_ratios(("clu_0.2_15_3", 3)), 1.25)
            self.assertEqual(diagnosis.count_found(("clu_0.2_15_3", 3)), 3)

    def test_a_rejected_fit_meets_no_target(self) -> None:
        with refused():
            self.assertTrue(np.isnan(cells.flagged_cells(("cell_0.1", 1))).all())
            self.assertTrue(np.isnan(cells.reconstruction_errors(("cell_0.1", 1))).all())
            self.assertTrue(np.isnan(cells.fill_error(("cell_0", 1))))
            self.assertTrue(np.isnan(clean_data.fractions((0, False, 0))).all())
            self.assertTrue(np.isnan(diagnosis.flagged_rows(("clu_0.2_15_3", 3))).all())
            self.assertEqual(diagnosis.count_found(("clu_0.2_15_3", 3)), 0)


class Tables(unittest.TestCase):
    """Generated tables, and tables of files."""

    def test_clean_populations_have_their_size_and_repeat(self) -> None:
        for population in clean_data.POPULATIONS:
            draws = [
                population.draw(np.random.default_rng(seed), population.samples, population.features)
                for seed in (1, 1, 2)
            ]
            self.assertEqual(draws[0].shape, (population.samples, population.features), population.name)
            np.testing.assert_array_equal(draws[0], draws[1])
            self.assertTrue((draws[0] != draws[2]).any())
            self.assertEqual(set(map(type, draws[0][0])), {np.float64})

    def test_skewed_populations_are_skewed_and_others_are_not(self) -> None:
        for population in clean_data.POPULATIONS:
            if population.group not in ("skewed", "n200"):
                continue
            points = population.draw(np.random.default_rng(0), 20_000, population.features)
            centered = points - points.mean(0)
            skewness = np.abs((centered**3).mean(0) / (centered**2).mean(0) ** 1.5).max()
            self.assertEqual(skewness > 0.5, population.group == "skewed", population.name)

    def test_most_stars_miss_whole_bands(self) -> None:
        points = missing_rows.star_catalog()
        missing = np.isnan(points).reshape(len(points), missing_rows.BANDS, missing_rows.BAND_COLUMNS)
        np.testing.assert_array_equal(missing.any(2), missing.all(2))
        self.assertAlmostEqual(missing.any((1, 2)).mean(), 1721 / 2000, delta=0.03)
        self.assertFalse(missing.all((1, 2)).any())

    def test_the_large_table_has_a_cluster_and_bad_cells(self) -> None:
        points = large_tables.contaminated(rows=2000)
        self.assertEqual(points.shape, (2000, 100))
        squares = (points**2).sum(1)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
        self.assertEqual((distances < 6).sum(1).max(), 200)
        # Half of the bad cells are beyond 5, and no other cell is.
        self.assertAlmostEqual(float(np.mean(np.abs(points) > 5)), 0.9 * 0.05 / 2, delta=0.003)

    def test_columns_of_text_are_left_out_and_missing_cells_are_nan(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cars.csv"
            path.write_text(',Maker,Price,Fuel,Speed\n1,"A, B",10.5,NA,\n2,C,NA,Diesel,3\n')
            np.testing.assert_array_equal(read_numbers(path), [[10.5, np.nan], [np.nan, 3]])


class Parallel(unittest.TestCase):
    """Work in processes."""

    def test_results_are_in_the_order_of_the_items(self) -> None:
        for jobs in (1, 2):
            self.assertEqual(list(in_processes(abs, [-3, 2, -1], jobs)), [3, 2, 1])


if __name__ == "__main__":
    unittest.main()
