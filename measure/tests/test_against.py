"""The comparison of two builds."""

from __future__ import annotations

import argparse
import io
import os
import stat
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from measure.__main__ import main
from measure.matrices import Shape
from measure.speed import against

PROGRAM = """#!/bin/sh
if [ "$2" = --help ]; then echo "--max-angle --method"; exit 0; fi
sleep SECONDS
echo '{"seconds": 1}'
"""


class Against(unittest.TestCase):
    """Two programs that wait for a given time."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, seconds: float) -> Path:
        path = self.folder / f"program-{seconds}"
        path.write_text(PROGRAM.replace("SECONDS", str(seconds)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run_against(self, old: float, new: float, limit: float) -> tuple[int, str]:
        names = {"program": self.program(new), "against": self.program(old), "folder": self.folder}
        asked = argparse.Namespace(**names, limit=limit, repeats=2, quick=False, shapes="", methods="ae,tae")
        silent = redirect_stderr(io.StringIO())
        with redirect_stdout(io.StringIO()) as printed, silent, mock.patch.object(against, "LEAST_SECONDS", 0):
            status = against.run(asked, [Shape("small", 48, 512)])
        return status, printed.getvalue()

    def test_a_slower_build_is_found(self) -> None:
        status, printed = self.run_against(0.05, 0.2, 1.5)
        self.assertEqual(status, 1)
        self.assertEqual(printed.count("**slower**"), 2)
        self.assertIn("2 of 2 rows are slower", printed)

    def test_a_faster_build_is_accepted(self) -> None:
        status, printed = self.run_against(0.2, 0.05, 1.1)
        self.assertEqual(status, 0)
        self.assertIn("0 of 2 rows are slower", printed)

    def test_a_delay_by_other_work_is_not_a_slowdown(self) -> None:
        delayed = iter([3.0, 3.0, 3.0])

        def seconds_of(which: int) -> float:
            return next(delayed, 1.0) if which == 1 else 1.0

        with redirect_stderr(io.StringIO()):
            found = against.compare_one("x", seconds_of, repeats=3, limit=1.1)
        self.assertEqual((found.old, found.new), (1.0, 1.0))

    def test_both_builds_run_equally_often_and_first_in_turn(self) -> None:
        order: list[int] = []

        def seconds_of(which: int) -> float:
            order.append(which)
            return 1.0

        against.alternate(seconds_of, 4)
        self.assertEqual(order, [0, 1, 1, 0, 0, 1, 1, 0])

    def test_short_fits_run_more_often(self) -> None:
        count = 0

        def seconds_of(_: int) -> float:
            nonlocal count
            count += 1
            return 0.001

        against.alternate(seconds_of, 3)
        self.assertEqual(count, 2 * 3 * against.MORE)


class Help(unittest.TestCase):
    """The command line."""

    def test_each_command_has_a_help_text(self) -> None:
        for command in ("speed", "accuracy", "clips", "scale", "python", "memory", "oracle"):
            with redirect_stdout(io.StringIO()) as printed, self.assertRaises(SystemExit) as raised:
                main([command, "--help"])
            self.assertEqual(raised.exception.code, 0)
            self.assertIn("--program", printed.getvalue())

    def test_wrong_names_are_rejected(self) -> None:
        program = ["--program", os.path.realpath("/bin/sh")]
        for command in (
            ["speed", "--shapes", "moon"],
            ["accuracy", "--cases", "moon"],
            ["accuracy", "--parts", "moon"],
            ["scale", "--only", "moon"],
        ):
            with redirect_stderr(io.StringIO()) as printed, self.assertRaises(SystemExit) as raised:
                main([*command, *program])
            self.assertEqual(raised.exception.code, 2)
            self.assertIn("moon", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
