#!/usr/bin/env python3
"""Checks all tracked text files against scripts/words.toml: phrases, openings of doc comments, names of types.

Prints one line `path:line: rule` per finding and exits with 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = "scripts/words.toml"
EXEMPT = {"CHANGELOG.md", RULES}
GAP = r"(?:\s|//[/!]?|#)+"  # between two words: spaces, or a line break and the comment marker of the next line
TYPE = re.compile(
    r"^([ \t]*)(?:pub(?:\([^)]*\))?[ \t]+)?(?:unsafe[ \t]+)?(struct|enum|trait|union|type|class)[ \t]+(\w+)", re.M
)


def tracked(root: pathlib.Path) -> list[str]:
    """Paths of the tracked files, relative to the root."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name]


def read(path: pathlib.Path) -> str | None:
    """The text of a file, or None for a file that is binary or was deleted."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


def check(root: pathlib.Path, names: list[str], rules: dict[str, Any]) -> list[tuple[str, int, str]]:
    """Findings as (path, line, rule), sorted."""
    phrases = [(re.compile(phrase.replace(" ", GAP), re.I), instead) for phrase, instead in rules["phrases"].items()]
    openings = re.compile(rf"^[ \t]*///[ \t]*({'|'.join(rules['doc_comments']['openings'])})\b", re.M)
    types = rules["types"]
    findings: list[tuple[str, int, str]] = []
    declared: dict[str, str] = {}
    for name in names:
        text = None if name in EXEMPT else read(root / name)
        if text is None:
            continue
        found: list[tuple[int, str]] = []
        for pattern, instead in phrases:
            for match in pattern.finditer(text):
                found.append((match.start(), f'"{" ".join(match[0].split())}" is on the deny list; use: {instead}'))
        code = name.endswith((".rs", ".py", ".pyi"))
        for match in openings.finditer(text) if code else ():
            found.append((match.start(1), f'a doc comment starts with "{match[1]}"; start with what the item is'))
        for match in TYPE.finditer(text) if code else ():
            indent, keyword, type_name = match.groups()
            if type_name in types["denied"]:
                found.append((match.start(3), f"the type name {type_name} is on the deny list; use a noun"))
            # An indented alias is an associated type, which each implementation of its trait declares.
            exempt = (bool(indent) and keyword == "type") or type_name in types["repeated"]
            if not exempt and any(fnmatch(name, pattern) for pattern in types["unique_in"]):
                if type_name in declared:
                    where = declared[type_name]
                    rule = f"the type name {type_name} is also declared in {where}; rename one of them"
                    found.append((match.start(3), rule))
                declared.setdefault(type_name, name)
        findings += [(name, text.count("\n", 0, position) + 1, rule) for position, rule in found]
    return sorted(findings)


def main() -> int:
    """Prints the findings."""
    findings = check(ROOT, tracked(ROOT), tomllib.loads((ROOT / RULES).read_text()))
    for name, line, rule in findings:
        print(f"{name}:{line}: {rule}")
    print(f"words: {len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
