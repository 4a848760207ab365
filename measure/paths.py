"""Folders and files of the repository that measurements use."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
SCRATCH = ROOT / "target/bench"
"""The default folder of generated matrices, which are written once."""
PROGRAM = ROOT / "target/release/steradian"
"""The release build of the program."""


def data_folder() -> Path | None:
    """The folder of public data sets, from STERADIAN_DATA; None if it is not set or does not exist."""
    named = os.environ.get("STERADIAN_DATA")
    folder = Path(named) if named else None
    return folder if folder is not None and folder.is_dir() else None
