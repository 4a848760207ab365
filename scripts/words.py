#!/usr/bin/env python3
"""Checks the vocabulary of all tracked text files against scripts/words.toml: phrases, openings of doc comments, names of types.

Prints one line `path:line: rule` per finding and exits with 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = "scripts/words.toml"
EXEMPT = {"CHANGELOG.md", RULES}
GAP = r"(?:\s|//[/!]?|#)+"  # between two words: spaces, or a line break and the comment marker of the next line
TYPE = re.compile(r"^([ \t]*)(?:pub(?:\([^)]*\))?[ \t]+)?(?:unsafe[ \t]+)?(struct|enum|trait|union|type|class)[ \t]+(\w+)", re.M)


def tracked(root):
    """Paths of the tracked files, relative to the root."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name]


def read(path):
    """The text of a file, or None for a file that is binary or was deleted."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


def check(root, names, rules):
    """Findings as (path, line, rule), sorted."""
    phrases = [(re.compile(phrase.replace(" ", GAP), re.I), instead) for phrase, instead in rules["phrases"].items()]
    openings = re.compile(rf"^[ \t]*///[ \t]*({'|'.join(rules['doc_comments']['openings'])})\b", re.M)
    types = rules["types"]
    findings, declared = [], {}
    for name in names:
        text = None if name in EXEMPT else read(root / name)
        if text is None:
            continue

        def add(position, rule):
            findings.append((name, text.count("\n", 0, position) + 1, rule))

        for pattern, instead in phrases:
            for match in pattern.finditer(text):
                add(match.start(), f'"{" ".join(match[0].split())}" is on the deny list; use: {instead}')
        if not name.endswith((".rs", ".py", ".pyi")):
            continue
        for match in openings.finditer(text):
            add(match.start(1), f'a doc comment starts with "{match[1]}"; start with what the item is')
        for match in TYPE.finditer(text):
            indent, keyword, type_name = match.groups()
            if type_name in types["denied"]:
                add(match.start(3), f"the type name {type_name} is on the deny list; use a noun")
            # An indented alias is an associated type, which each implementation of its trait declares.
            associated = bool(indent) and keyword == "type"
            if not associated and type_name not in types["repeated"] and any(fnmatch(name, p) for p in types["unique_in"]):
                if type_name in declared:
                    add(match.start(3), f"the type name {type_name} is also declared in {declared[type_name]}; rename one of them")
                declared.setdefault(type_name, name)
    return sorted(findings)


def main():
    findings = check(ROOT, tracked(ROOT), tomllib.loads((ROOT / RULES).read_text()))
    for name, line, rule in findings:
        print(f"{name}:{line}: {rule}")
    print(f"words: {len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
