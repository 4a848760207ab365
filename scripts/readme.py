"""python/README.md, the page of the Python package, made of sections of README.md.

Usage: python3 scripts/readme.py [--write]

Without an option, fails if python/README.md is not what README.md gives (part of `make lint`); with --write, writes it.
Links and images are relative to the repository, which the package's page cannot show: links become text, images are
omitted.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = (
    "",
    "### Python",
    "## Install",
    "## Why steradian",
    "## When not to use it",
    "## Methods",
    "## Citation and license",
)
"""Headings of the sections to take; the first is the part above all headings."""
HEADING = re.compile(r"^#{2,3} .*$", re.MULTILINE)
LAST = """## Documentation

The guides are in `docs/python` of the repository, the definitions in `docs/maths.md`, the accuracy in `docs/truth.md`.
"""


def sections(page: str) -> dict[str, str]:
    """The text of each section, by its heading."""
    headings = ["", *HEADING.findall(page)]
    return dict(zip(headings, HEADING.split(page), strict=True))


def without_links(text: str) -> str:
    """Text without images and relative links."""
    text = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text)


def package_page(page: str) -> str:
    """The page of the package."""
    parts = sections(page)
    missing = [name for name in SECTIONS if name not in parts]
    if missing:
        raise SystemExit(f"README.md has no section {', '.join(missing)}; update SECTIONS in scripts/readme.py")
    chosen = [f"{name.replace('### ', '## ')}{parts[name]}" for name in SECTIONS]
    return without_links("".join([*chosen[:-1], LAST, "\n", chosen[-1]]))


def main() -> None:
    """Checks or writes the page."""
    made = package_page((ROOT / "README.md").read_text(encoding="utf-8"))
    target = ROOT / "python/README.md"
    if sys.argv[1:] == ["--write"]:
        target.write_text(made, encoding="utf-8")
    elif sys.argv[1:]:
        raise SystemExit("usage: python3 scripts/readme.py [--write]")
    elif target.read_text(encoding="utf-8") != made:
        raise SystemExit("python/README.md differs from README.md; run python3 scripts/readme.py --write")


if __name__ == "__main__":
    main()
