"""Check that binaries contain no path of the machine that built them.

Arguments: programs, libraries and wheels. Prints each path below the checkout, the home folder or cargo's folder that
a file contains, and fails if there is one. The remedy is `--remap-path-prefix`, which the Makefile passes for release
builds.
"""

import os
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def folders() -> list[str]:
    """The folders that no binary names: checkout, home, cargo and rustup."""
    home = Path.home()
    named = [os.environ.get("CARGO_HOME"), os.environ.get("RUSTUP_HOME")]
    found = {str(ROOT), str(home / ".cargo"), str(home / ".rustup"), *(name for name in named if name)}
    return sorted(found)


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The bytes of a file, or of each member of a wheel."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                yield f"{path}: {name}", wheel.read(name)
    else:
        yield str(path), path.read_bytes()


def findings(data: bytes, prefixes: list[str]) -> list[str]:
    """The distinct paths in `data` that start with one of the prefixes, at most ten."""
    pattern = b"|".join(re.escape(prefix.encode()) + rb"/[\x21-\x7e]{0,120}" for prefix in prefixes)
    return sorted({match.decode() for match in re.findall(pattern, data)})[:10]


def main(arguments: list[str]) -> int:
    """Check every file that is given."""
    count = 0
    for argument in arguments:
        for name, data in contents(Path(argument)):
            for found in findings(data, folders()):
                print(f"{name}: contains {found}")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
