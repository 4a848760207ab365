#!/usr/bin/env python3
"""The table of files in ARCHITECTURE.md: every Rust source file with the first sentence of its `//!` header.

Without arguments it checks that the table is up to date and exits with 1, naming the lines that differ; `--write`
replaces it.
"""

import difflib
import functools
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ["crates/*/src", "python/rust/src"]
BEGIN = "<!-- file table: written by scripts/file_table.py --write -->"
END = "<!-- end of file table -->"
LINK = re.compile(r"\[([^\]]+)\](?:\([^)]*\))?")  # links of rustdoc lead nowhere in this file


def first_sentence(text: str) -> str | None:
    """The first sentence of the first run of `//!` lines, or None for a file without one."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("//!")), None)
    if start is None:
        return None
    words = []
    for line in lines[start:]:
        content = line.removeprefix("//!").strip()
        if not line.startswith("//!") or not content:
            break
        words.append(content)
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z`\[])", " ".join(words))[0]
    return LINK.sub(r"\1", sentence).rstrip(".").replace("|", "\\|") or None


def place(
    folder: pathlib.Path, order: list[str], file: pathlib.Path
) -> tuple[int, tuple[str, ...], bool, tuple[str, ...]]:
    """The key by which the files of a folder are sorted: layer, subfolder, `mod.rs` first."""
    parts = file.relative_to(folder).parts
    layer = parts[0] if len(parts) > 1 else ""
    rank = order.index(layer) if layer in order else len(order) * bool(layer)
    return rank, parts[:-1], parts[-1] != "mod.rs", parts


def table(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """The lines of the table, and the files without a header."""
    layers = root / "scripts/layers.toml"
    crates = tomllib.loads(layers.read_text()).values() if layers.exists() else ()
    orders: dict[str, list[str]] = {crate["path"]: crate["order"] for crate in crates}
    lines: list[str] = []
    bare: list[str] = []
    for folder in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        name = folder.relative_to(root).as_posix()
        order = orders.get(name, [])
        lines += ["", f"### {name}", "", "| file | contents |", "|---|---|"]
        for file in sorted(folder.rglob("*.rs"), key=functools.partial(place, folder, order)):
            sentence = first_sentence(file.read_text())
            bare += [] if sentence else [file.relative_to(root).as_posix()]
            lines.append(f"| `{file.relative_to(folder).as_posix()}` | {sentence} |")
    return [*lines, ""], bare


def main(arguments: list[str], root: pathlib.Path = ROOT) -> int:
    """Checks or writes the table."""
    page = root / "ARCHITECTURE.md"
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"{page.name} needs the two lines of the file table once each:\n  {BEGIN}\n  {END}")
        return 1
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    lines, bare = table(root)
    new = "\n" + "\n".join(lines) + "\n"
    if "--write" in arguments:
        page.write_text(head + BEGIN + new + END + tail)
        old = new
    differences = [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[:2] in ("- ", "+ ")]
    if differences:
        print(f"the file table of {page.name} is out of date; run scripts/file_table.py --write")
        print("\n".join(differences))
    for name in bare:
        print(f"{name} has no //! header; begin it with a sentence on its contents")
    if not differences and not bare:
        print(f"{page.name}: the file table is up to date, {sum(line.startswith('| `') for line in lines)} files")
    return int(bool(differences or bare))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
