#!/usr/bin/env python3
"""Checks the imports in each crate of scripts/layers.toml: none against the order of folders, no cycle of files.

An import is a `use` of this crate or a path that starts with `crate`, `super` or the name of an imported module. Names
that a `mod.rs` re-exports count as imports of the file that defines them. lib.rs may import everything; comments,
strings and test modules do not count.
"""

import pathlib
import re
import sys
import tomllib
from collections.abc import Iterator

Names = tuple[str, ...]
"""A path of names, as in `crate::data::block`."""
Graph = dict[str, set[str]]
"""Names of the files that each file imports."""

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|r#*".*?"#*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)
# rustfmt puts the closing brace first in its line.
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{.*?^\}", re.S | re.M)
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")


def leaves(tree: str, prefix: Names = ()) -> Iterator[tuple[Names, str]]:
    """The paths of a use tree with the name each gets: `a::{b, c as d}` gives a::b as b and a::c as d."""
    if "{" not in tree:
        names, _, alias = (part.strip() for part in tree.partition(" as "))
        path = prefix + tuple(part.strip() for part in names.split("::"))
        path = path[:-1] if path[-1] == "self" and len(path) > 1 else path
        yield path, alias or path[-1]
        return
    head, inner = tree.split("{", 1)
    prefix += tuple(part.strip() for part in head.split("::") if part.strip())
    depth, piece = 0, ""
    for char in inner.rsplit("}", 1)[0] + ",":
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            yield from leaves(piece, prefix) if piece.strip() else ()
            piece = ""
        else:
            piece += char


class File:
    """A Rust file: its module, its layer, and the paths that it uses and re-exports."""

    def __init__(self, root: pathlib.Path, path: pathlib.Path) -> None:
        self.name = path.relative_to(root).as_posix()
        parts = path.relative_to(root).with_suffix("").parts
        self.module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
        self.layer = parts[0] if len(parts) > 1 else "root"
        self.code = TESTS.sub("", NOISE.sub("", path.read_text()))
        found = [(bool(public), *leaf) for public, tree in USE.findall(self.code) for leaf in leaves(tree)]
        self.reexports = {alias: path for public, path, alias in found if public}
        self.uses = [(path, alias) for _, path, alias in found]
        self.body = USE.sub("", self.code)


class Crate:
    """The files of a crate."""

    def __init__(self, root: pathlib.Path) -> None:
        self.files = [File(root, path) for path in sorted(root.rglob("*.rs"))]
        self.modules = {file.module: file for file in self.files}

    def resolve(self, names: Names, module: Names) -> tuple[File, list[str]] | None:
        """The file that a path leads to and the names left over, or None for a path of another crate."""
        path, base = list(names), module
        if path[0] in ("crate", "$crate"):
            base, path = (), path[1:]
        elif path[0] in ("super", "self"):
            while path and path[0] in ("super", "self"):
                base = base[:-1] if path.pop(0) == "super" else base
        elif (*module, path[0]) not in self.modules:
            return None
        while path and (*base, path[0]) in self.modules:
            base += (path.pop(0),)
        if base not in self.modules:
            return None  # a module inside a file
        file = self.modules[base]
        if path and path[0] in file.reexports:
            return self.resolve(file.reexports[path[0]], file.module) or (file, path)
        return file, path

    def imports(self, file: File) -> set[str]:
        """Names of the files that a file imports."""
        paths = [path for path, _ in file.uses]
        paths += [tuple(path.split("::")) for path in re.findall(r"(?<![\w:])(?:\$?crate|super)(?:::\w+)+", file.body)]
        for path, alias in file.uses:
            found = self.resolve(path, file.module)
            if found and not found[1]:  # a module: names may follow it
                paths += [(*path, name) for name in re.findall(rf"(?<![\w:]){alias}::(\w+)", file.body)]
        targets = (self.resolve(path, file.module) for path in paths)
        return {target.name for target, _ in filter(None, targets) if target.name not in (file.name, "lib.rs")}

    def graph(self) -> Graph:
        """The imports of each file."""
        graph = {file.name: self.imports(file) for file in self.files if file.name not in ("lib.rs", "main.rs")}
        # A mod.rs lists its files and passes their names on; that is no use of them.
        for name in [name for name in graph if name.endswith("mod.rs")]:
            file = next(file for file in self.files if file.name == name)
            listed = {found[0].name for p in file.reexports.values() if (found := self.resolve(p, file.module))}
            used = {n for n in graph[name] if re.search(rf"\b{pathlib.PurePath(n).stem}::", file.body)}
            words = set(re.findall(r"\w+", file.body))
            named = {f[0].name for a, p in file.reexports.items() if a in words and (f := self.resolve(p, file.module))}
            graph[name] -= listed - used - named
        return graph


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of files that import each other, directly or through others (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            groups.extend([sorted(group)] if len(group) > 1 else [])

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return groups


def check(root: pathlib.Path, order: list[str]) -> tuple[list[str], int]:
    """What is wrong with the imports of one crate, one line each."""
    crate = Crate(root)
    rank = {layer: i for i, layer in enumerate(order)}
    layer = {file.name: file.layer for file in crate.files}
    graph = crate.graph()
    problems = [f"{folder}/ is not in the order of folders" for folder in sorted({*layer.values()} - {*rank})]
    for name, targets in graph.items():
        for target in sorted(targets):
            if rank.get(layer[target], -1) > rank.get(layer[name], len(rank)):
                problems.append(f"{name} imports {target}, but {layer[target]} comes after {layer[name]}")
    problems += [f"cycle: {', '.join(group)}" for group in cycles(graph)]
    return problems, len(graph)


def main() -> int:
    """Checks all crates of scripts/layers.toml."""
    failed = False
    for name, crate in tomllib.loads((ROOT / "scripts/layers.toml").read_text()).items():
        problems, files = check(ROOT / crate["path"], crate["order"])
        print(f"{name}: {files} files in {len(crate['order'])} layers, {len(problems)} problems")
        print("".join(f"  {problem}\n" for problem in problems), end="")
        failed |= bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
