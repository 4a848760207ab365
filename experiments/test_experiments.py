"""The small form of all parts, and unit tests of their functions."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from experiments import data, figures12
from experiments.classes import four_classes
from experiments.classifiers import RVFL
from experiments.methods import degrees_between
from experiments.outcome import Outcome
from measure.verdicts import SKIPPED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


class Small(unittest.TestCase):
    """The whole run in its small form."""

    def run_parts(self, *options: str) -> tuple[Path, str]:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        command = [
            sys.executable,
            "-m",
            "experiments",
            "--small",
            "--output",
            str(folder),
            "--scratch",
            str(folder / "scratch"),
        ]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder, done.stderr

    def test_every_part_fills_its_lines(self) -> None:
        folder, _ = self.run_parts()
        report = (folder / "report.md").read_text()
        outcomes = {path.stem: Outcome.load(path) for path in (folder / "results").iterdir()}
        self.assertEqual(len(outcomes), 11)
        for name, outcome in outcomes.items():
            self.assertTrue(outcome.rows, f"{name} has no claim")
            for row in outcome.rows:
                self.assertIn(row.measured, report)
            for figure in outcome.figures:
                self.assertTrue((folder / figure).stat().st_size > 1000, figure)
        for name in ("table1", "table3", "fig1", "fig2", "contamination", "breakdown"):
            self.assertNotIn(SKIPPED, {row.status for row in outcomes[name].rows}, f"{name} needs no data")
        # Even the small form shows what Table 1 is about.
        verdicts = {row.about: row.status for row in outcomes["table1"].rows}
        self.assertEqual(verdicts["PCA, EM PCA at d = 1"], "holds", verdicts)

    def test_without_data_the_report_says_what_is_missing(self) -> None:
        folder, said = self.run_parts("--only", "fig3,fig5,kept,table2", "--data", "/nowhere/at/all")
        self.assertIn("/nowhere/at/all is missing", said)
        report = (folder / "report.md").read_text()
        for words in ("CAVIAR corridor", "Extended Yale B", "MSR Action3D", "Li et al. 2004", "**skipped**"):
            self.assertIn(words, report)

    def test_a_part_alone_leaves_the_others(self) -> None:
        folder, _ = self.run_parts("--only", "fig1")
        Outcome("fig2", "kept").save(folder / "results")
        command = [sys.executable, "-m", "experiments", "--small", "--only", "fig1", "--output", str(folder)]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        self.assertIn("## kept", (folder / "report.md").read_text())


class Parts(unittest.TestCase):
    """Functions of the parts."""

    def test_the_generator_is_that_of_the_reference(self) -> None:
        reference = os.environ.get("STERADIAN_REFERENCE", "")
        if not reference or not (Path(reference) / "table1.py").exists():
            self.skipTest("STERADIAN_REFERENCE has no table1.py")
        spec: dict[str, Any] = {}
        exec((Path(reference) / "table1.py").read_text(), spec)
        theirs = spec["gen"](3, frac=0.05, shift=30.0)
        ours = four_classes(3)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-12)
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_array_equal(ours[2], theirs[2].astype(bool))

    def test_rvfl_learns_what_lines_cannot_tell(self) -> None:
        rng = np.random.default_rng(0)
        samples = rng.uniform(-2, 2, (800, 2))
        labels = (np.linalg.norm(samples, axis=1) < 1.2).astype(int)
        self.assertGreater(RVFL(0).fit(samples[:600], labels[:600]).score(samples[600:], labels[600:]), 0.93)

    def test_expected_rows_have_a_number_for_each_method(self) -> None:
        for part in tomllib.loads((HERE / "expected.toml").read_text()).values():
            for row in (row for key, row in part.items() if key != "methods"):
                self.assertEqual(len(row), len(part["methods"]))

    def test_theorem_1_is_sharp(self) -> None:
        fine = np.linspace(0, np.pi, 20_001)
        self.assertAlmostEqual(figures12.pair_bias(0.3, fine), np.sin(0.3), places=6)

    def test_angles(self) -> None:
        a, b = np.eye(4)[:2], np.array([[1, 0, 0, 0], [0, np.cos(0.2), np.sin(0.2), 0]])
        self.assertAlmostEqual(degrees_between(a, b), np.rad2deg(0.2))

    def test_skeletons_do_not_depend_on_place_size_or_pace(self) -> None:
        rng = np.random.default_rng(1)
        frames = rng.standard_normal((39, 20, 3)).cumsum(axis=0)
        features = data.skeleton_features(frames)
        self.assertEqual(features.shape, (1200,))
        np.testing.assert_allclose(data.skeleton_features(3 * frames + [5, 6, 7]), features, atol=1e-9)
        slow = np.repeat(frames, 1, axis=0)
        slow = np.concatenate([slow[:10], np.zeros((3, 20, 3)), slow[10:]])
        np.testing.assert_allclose(data.skeleton_features(slow), features, atol=1e-12)
        self.assertIsNone(data.skeleton_features(np.zeros((5, 20, 3))))

    def test_bad_folders_are_named(self) -> None:
        from PIL import Image

        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        with self.assertRaisesRegex(data.MissingDataError, "no images"):
            data.images(folder)
        Image.fromarray(np.zeros((4, 5), np.uint8)).save(folder / "a.png")
        Image.fromarray(np.zeros((4, 6), np.uint8)).save(folder / "b.png")
        with self.assertRaisesRegex(data.MissingDataError, r"b\.png is 6 x 4 where a\.png is 5 x 4"):
            data.images(folder)
        (folder / "set").mkdir()
        np.save(folder / "set/features.npy", np.zeros((5, 3)))
        np.save(folder / "set/labels.npy", np.zeros(4))
        np.save(folder / "set/training.npy", np.zeros(5))
        with self.assertRaisesRegex(data.MissingDataError, r"labels\.npy has shape \(4,\) where \(5,\)"):
            data.actions_of_arrays(folder, "set")


if __name__ == "__main__":
    unittest.main()
