"""The helpers: verdicts, targets, tables, files, processes and the spelling of keys and options."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

from measure import machine
from measure.files import npy_header, read_tensor, with_matrix, write_atomically
from measure.markdown import digits, page, sections_of, table, targets_text
from measure.processes import module, timed
from measure.program import FORMER_KEYS, FORMER_OPTIONS, Program, ProgramError, option, value
from measure.resident import PeakAbove, watch
from measure.rows import Row, count_missed
from measure.targets import Target, all_targets, group, parse, target
from measure.verdicts import GOAL_MET, GOAL_MISSED, MET, MISSED, NOT_RUN, satisfies, status


class Verdicts(unittest.TestCase):
    """Comparison with bounds."""

    def test_limits_are_inclusive_and_have_a_direction(self) -> None:
        self.assertTrue(satisfies(2.0, 2.0))
        self.assertTrue(satisfies(2.0, 2.0, lower_is_better=True))
        self.assertFalse(satisfies(1.9, 2.0))
        self.assertFalse(satisfies(2.1, 2.0, lower_is_better=True))

    def test_intervals_and_several_values(self) -> None:
        self.assertTrue(satisfies(0.9, (0.9, 1.1)))
        self.assertFalse(satisfies(1.2, (0.9, 1.1)))
        self.assertTrue(satisfies((96.5, 98.9), (96.0, 99.0)))
        self.assertFalse(satisfies((95.5, 98.9), (96.0, 99.0)))

    def test_conditions_in_words_need_a_truth_value(self) -> None:
        self.assertTrue(satisfies(True, "equal"))
        self.assertFalse(satisfies(False, "equal"))
        with self.assertRaises(TypeError):
            satisfies(1.0, "equal")
        with self.assertRaises(TypeError):
            satisfies(True, 1.0)

    def test_nan_satisfies_nothing(self) -> None:
        for bound in (1.0, (0.0, 2.0)):
            for lower in (False, True):
                self.assertFalse(satisfies(float("nan"), bound, lower))

    def test_statuses(self) -> None:
        self.assertEqual(status(True, None), MET)
        self.assertEqual(status(True, False), MET)
        self.assertEqual(status(True, True), GOAL_MET)
        self.assertEqual(status(False, True), MISSED)
        self.assertEqual(status(None, False), GOAL_MISSED)


class Targets(unittest.TestCase):
    """Targets and their rows."""

    def test_a_row_has_the_status_of_its_value(self) -> None:
        goal = Target("time", required=5.0, goal=2.5, unit=" s", lower_is_better=True)
        self.assertEqual(goal.row(6.0), Row("time", "5 s", "2.5 s", "6.00 s", MISSED))
        self.assertEqual(goal.row(4.0).status, MET)
        self.assertEqual(goal.row(2.0).status, GOAL_MET)
        self.assertEqual(goal.row(None), Row("time", "5 s", "2.5 s", "-", NOT_RUN))

    def test_names_fill_placeholders_and_computed_values_are_required(self) -> None:
        goal = Target("memory of {case}", None, unit=" MB", lower_is_better=True).named(case="hall").requiring(32)
        self.assertEqual(goal.row(40.0), Row("memory of hall", "32 MB", "", "40.00 MB", MISSED))

    def test_a_placeholder_must_be_filled_in(self) -> None:
        with self.assertRaisesRegex(ValueError, "placeholders"):
            Target("memory of {case}", required=1.0).row(1.0)

    def test_a_goal_in_words(self) -> None:
        goal = Target("angle", required=2.5, goal="ROBPCA", lower_is_better=True)
        self.assertEqual(goal.row(2.0, goal_met=False).status, MET)
        self.assertEqual(goal.row(2.0, goal_met=True).status, GOAL_MET)
        self.assertEqual(goal.row(3.0, goal_met=True).status, MISSED)

    def test_the_file_is_complete(self) -> None:
        self.assertGreater(len(all_targets()), 50)
        for name, found in all_targets().items():
            self.assertTrue(found.about, name)
            if isinstance(found.required, float) and isinstance(found.goal, float):
                order = found.goal <= found.required if found.lower_is_better else found.goal >= found.required
                self.assertTrue(order, f"{name}: the goal is easier than the required value")
        self.assertEqual(set(group("speed.ae")), {"yale", "water", "hall", "caviar"})
        self.assertEqual(target("speed.growth").required, (0.9, 1.1))

    def test_unknown_keys_are_rejected(self) -> None:
        with self.assertRaisesRegex(ValueError, "unknown keys must"):
            parse("x", {"about": "x", "required": 1, "must": 2})
        with self.assertRaisesRegex(ValueError, "neither"):
            parse("x", {"about": "x"})


class Markdown(unittest.TestCase):
    """Tables and pages."""

    def test_a_table(self) -> None:
        text = table(["a", "b", "c"], [["x", "y", "1"]], words=2)
        self.assertEqual(text, "| a | b | c |\n| --- | --- | ---: |\n| x | y | 1 |\n")

    def test_sections_are_found_again(self) -> None:
        text = page("Title", "Words.", [("One", "1\n\n### Inner\n\nmore"), ("Two", "2")])
        self.assertTrue(text.startswith("# Title\n\nWords.\n\n## One\n"))
        self.assertEqual(sections_of(text), {"One": "1\n\n### Inner\n\nmore", "Two": "2"})

    def test_missed_targets_are_counted(self) -> None:
        goal = Target("x", required=1.0)
        rows = [goal.row(0.5), goal.row(2.0), goal.row(None)]
        self.assertEqual(count_missed(rows), 1)
        self.assertTrue(targets_text(rows).startswith("1 of 3 missed. 1 not measured."))

    def test_digits(self) -> None:
        self.assertEqual([digits(x) for x in (0.012345, 12.345, 1234.5)], ["0.0123", "12.3", "1234"])
        self.assertEqual([digits(x) for x in (None, float("nan"), float("inf"))], ["-", "-", "-"])


class Files(unittest.TestCase):
    """Files that are written and read."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_npy_headers_are_numpy_s(self) -> None:
        for array in (np.arange(6, dtype=np.uint8).reshape(2, 3), np.linspace(0, 1, 5)):
            path = self.folder / "x.npy"
            path.write_bytes(npy_header(array.shape, array.dtype.str) + array.tobytes())
            np.testing.assert_array_equal(np.load(path), array)

    def test_an_unfinished_file_does_not_replace_the_old_one(self) -> None:
        path = write_atomically(self.folder / "sub/x.txt", "old")

        def fail(unfinished: Path) -> None:
            unfinished.write_text("new")
            raise OSError("disk full")

        with self.assertRaises(OSError):
            write_atomically(path, fail)
        self.assertEqual(path.read_text(), "old")

    def test_a_temporary_matrix_is_removed(self) -> None:
        path, total = with_matrix(np.ones((3, 2)), lambda path: (path, np.load(path).sum()))
        self.assertEqual(total, 6)
        self.assertFalse(path.exists())

    def test_a_tensor_of_a_model_file(self) -> None:
        values = np.arange(6.0).reshape(2, 3)
        entries = {
            "a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
            "b": {"dtype": "F64", "shape": [2, 3], "data_offsets": [8, 56]},
            "c": {"dtype": "U8", "shape": [0], "data_offsets": [56, 56]},
        }
        header = json.dumps(entries).encode()
        path = self.folder / "x.safetensors"
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8) + values.tobytes())
        np.testing.assert_array_equal(read_tensor(path, "b"), values)
        with self.assertRaisesRegex(ValueError, "c is U8"):
            read_tensor(path, "c")


class Processes(unittest.TestCase):
    """Child processes and their memory."""

    def test_time_and_output(self) -> None:
        seconds, printed = timed([sys.executable, "-c", "import time; time.sleep(0.2); print('done')"])
        self.assertGreaterEqual(seconds, 0.2)
        self.assertEqual(printed, "done\n")

    def test_a_failed_process_raises(self) -> None:
        with self.assertRaises(subprocess.CalledProcessError):
            timed([sys.executable, "-c", "import sys; sys.exit(3)"])

    def test_modules_of_this_package_are_found_from_any_folder(self) -> None:
        command = module("accuracy.save")
        before = os.getcwd()
        try:
            os.chdir("/")
            with self.assertRaises(subprocess.CalledProcessError) as raised:
                timed(command)
        finally:
            os.chdir(before)
        self.assertEqual(raised.exception.returncode, 1)

    def test_peaks_of_memory(self) -> None:
        script = "x = bytearray(64 << 20); import time; time.sleep(0.3); print(len(x))"
        peak, printed = watch([sys.executable, "-c", script])
        self.assertEqual(printed, b"67108864\n")
        self.assertGreater(peak, 64)
        self.assertLess(peak, 128)
        with PeakAbove() as above:
            content = bytearray(b"x" * (32 << 20))
            time.sleep(0.1)
        self.assertGreater(above.mib, 30)
        del content

    def test_the_machine_has_a_name_and_the_sources_a_commit(self) -> None:
        self.assertRegex(machine.machine(), r"\d+ cores, \d+ GB of memory")
        self.assertRegex(machine.stamp("make x"), r"Written by `make x` on \d{4}-\d\d-\d\d at commit \w+")
        self.assertNotIn("other work", machine.load_text(0.1))
        self.assertIn("other work", machine.load_text(2.0))


PROGRAM = """#!/bin/sh
case "$1" in
  fit) if [ "$2" = --help ]; then echo "OPTIONS"; exit 0; fi
       echo "error: first line" >&2; echo "error: no such file" >&2; exit 4;;
esac
"""


class Spelling(unittest.TestCase):
    """Keys and options of builds before and after a rename."""

    def program(self, options: str) -> Program:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "program"
        path.write_text(PROGRAM.replace("OPTIONS", options))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return Program(path)

    def test_present_keys_come_first(self) -> None:
        for present, former in FORMER_KEYS.items():
            self.assertEqual(value({former: 1}, present), 1)
            self.assertEqual(value({former: 1, present: 2}, present), 2)
        self.assertEqual(value({"seconds": 3}, "seconds"), 3)
        with self.assertRaises(KeyError):
            value({}, "n_support")

    def test_options_are_spelled_as_the_build_knows_them(self) -> None:
        for present, former in FORMER_OPTIONS.items():
            new, old, both = self.program(present), self.program(former), self.program(f"{former} {present}")
            self.assertEqual(option(new.path, "fit", present), present)
            self.assertEqual(option(old.path, "fit", present), former)
            self.assertEqual(option(both.path, "fit", present), present)
        command = self.program("--angle").fit_command(Path("x.npy"), Path("m"), "--max-angle", 60, "-d", 2)
        self.assertEqual(command[1:], ["fit", "x.npy", "-o", "m", "--angle", "60", "-d", "2", "--json"])

    def test_an_error_names_the_exit_code_and_the_last_line(self) -> None:
        with self.assertRaisesRegex(ProgramError, "exit code 4: error: no such file"):
            self.program("--angle").fit(Path("x.npy"), "ae", 2)


if __name__ == "__main__":
    unittest.main()
