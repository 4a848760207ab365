"""Check that the wheel and the workspace compile their common dependencies once.

Cargo compiles a crate once for each set of features that it is asked for. maturin builds the extension module alone,
tests build the whole workspace: a crate whose features differ between the two is compiled twice, and so is all that is
built upon it.
Prints such crates and fails; the remedy is to name the missing features in python/rust/Cargo.toml.
"""

import subprocess
import sys


def features(*selection: str) -> dict[str, set[str]]:
    """Crates of a selection, by name and version, with their lists of features."""
    command = ["cargo", "tree", "--prefix", "none", "--format", "{p} [{f}]", *selection]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.strip():
            name, version, *rest = line.removesuffix(" (*)").split()
            found.setdefault(f"{name} {version}", set()).add(rest[-1])
    return found


def main() -> int:
    """Compare both selections."""
    wheel = features("--package", "steradian-python", "--edges", "normal,build")
    workspace = features("--workspace", "--all-features", "--edges", "normal,build,dev")
    twice = {
        crate: lists - workspace.get(crate, set())
        for crate, lists in wheel.items()
        if not lists <= workspace.get(crate, set())
    }
    for crate, lists in sorted(twice.items()):
        print(
            f"{crate} is compiled twice: {', '.join(sorted(lists))} for the wheel,"
            f" {', '.join(sorted(workspace.get(crate, {'not at all'})))} for tests"
        )
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
