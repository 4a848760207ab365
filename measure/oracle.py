"""Checks that a change of the code changes no number: hashes of all arrays of all models, before and after.

    record FILE       fit all cases with --program and write hashes and metadata to a file
    compare FILE      fit them again and list the differences; the exit code is 1 if there are any

A case is a method, a solver, an element type and options. Its record has the SHA-256 of each array of the model file
(under names that do not depend on the version of the format), the metadata as JSON, the SHA-256 of the scores and flags
of the same data, and for a rejected fit the exit code. Bits depend on the instruction set, so record and compare on one
machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from measure.files import npy_header
from measure.options import absolute, add_program
from measure.program import METHODS, Program

HELP = "hashes of all arrays of all models, before and after a change"
FORMER_NAMES = {
    "kept": "support",
    "shares": "angular_eigenvalues",
    "variances": "explained_variance",
    "n_kept": "n_support",
    "chosen": "n_components_reason",
    "cleaned_share": "cleaned_fraction",
    "element": "dtype",
    "image": "image_size",
    "angle": "max_angle",
    "angle_auto": "max_angle_auto",
    "directions": "n_directions",
    "scale": "scaling",
    "counting": "pivot_search",
}
"""Names of arrays and metadata keys in model files of format 1, and their present names."""
IGNORED = {"format"}
"""Metadata about the file rather than the fit."""

TYPES = {"u8": ("|u1", "B"), "u16": ("<u2", "H"), "f32": ("<f4", "f"), "f64": ("<f8", "d")}
SHAPES = {"tall": (300, 12), "wide": (40, 150), "blocks": (700, 30)}
BASELINES = ["empca", "emae", "ga", "tga", "pcp"]
SOLVERS = ["auto", "scatter", "gram", "krylov"]
OPTIONS = {
    "scaled": ["--scaling", "mad"],
    "counted": ["-d", "auto"],
    "fraction": ["-d", "0.8"],
    "seed": ["--seed", "7"],
}
CONE_OPTIONS = {
    "angle": ["--max-angle", "auto"],
    "signed": ["--cosine", "signed", "--max-angle", "75"],
    "recenter": ["--recenter", "--ties", "density"],
}
CELLWISE = ("robust", "cells")
"""Methods that reject the options of solver and center."""
CENTERS = ["mean", "median", "spatial-median", "none"]

Case = tuple[str, str, str, list[str]]
"""Name, shape, element type, options."""
Record = dict[str, Any]


def samples(shape: tuple[int, int], kind: str, seed: int = 1) -> Iterator[float]:
    """Rank 3 with noise, a tenth of the rows shifted and some bad cells, in the range of u8."""
    draw = random.Random(f"{shape} {seed}")
    n, features = shape
    loadings = [[draw.gauss(0, 1) for _ in range(features)] for _ in range(3)]
    for i in range(n):
        scores = [draw.gauss(0, s) for s in (20, 12, 7)]
        shift = 70 if i % 10 == 3 else 0
        for j in range(features):
            x = 128 + sum(s * q[j] for s, q in zip(scores, loadings, strict=True)) / 2 + draw.gauss(0, 2)
            x += shift * (1 if j % 3 else -1) + (90 if draw.random() < 0.01 else 0)
            x = min(max(x, 0.0), 255.0)
            yield round(x) if kind in ("u8", "u16") else x


def write_npy(path: Path, shape: tuple[int, int], kind: str) -> None:
    """Writes the samples of a shape and element type."""
    descr, code = TYPES[kind]
    body = struct.pack(f"<{math.prod(shape)}{code}", *samples(shape, kind))
    path.write_bytes(npy_header(shape, descr) + body)


def with_present_names(content: Any) -> Any:
    """Metadata under the present names of its keys."""
    if isinstance(content, dict):
        return {
            FORMER_NAMES.get(key, key): with_present_names(content[key])
            for key in sorted(content)
            if key not in IGNORED
        }
    return [with_present_names(item) for item in content] if isinstance(content, list) else content


def read_model(path: Path) -> Record:
    """The hash of each array and the metadata of a model file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = json.loads(header.pop("__metadata__")["steradian"])
    body = data[8 + length :]
    arrays = {}
    for name, entry in header.items():
        digest = hashlib.sha256(f"{entry['dtype']} {entry['shape']} ".encode() + body[slice(*entry["data_offsets"])])
        # The array of scales keeps its name; only the parameter was renamed.
        arrays[name if name == "scale" else FORMER_NAMES.get(name, name)] = digest.hexdigest()
    return {"arrays": dict(sorted(arrays.items())), "metadata": with_present_names(metadata)}


def cases() -> Iterator[Case]:
    """All cases."""
    for shape in SHAPES:
        for kind in TYPES:
            for method in METHODS:
                if method in CELLWISE:
                    yield f"{shape} {kind} {method}", shape, kind, ["--method", method, "-d", "2"]
                    continue
                for solver in SOLVERS:
                    options = ["--method", method, "--solver", solver, "-d", "2"]
                    yield f"{shape} {kind} {method} {solver}", shape, kind, options
            for method in BASELINES:
                if shape != "blocks":
                    yield f"{shape} {kind} {method}", shape, kind, ["--method", method, "-d", "2"]
    for kind in ("u8", "f32", "f64"):
        for method in METHODS:
            more = OPTIONS | (CONE_OPTIONS if method == "tae" else {})
            for name, options in more.items():
                given = [] if "-d" in options else ["-d", "2"]
                yield f"tall {kind} {method} {name}", "tall", kind, ["--method", method, *given, *options]
        for center in CENTERS:
            for method in ("ae", "tae", "angular"):
                for solver in ("gram", "krylov"):
                    options = ["--method", method, "--solver", solver, "--center", center, "-d", "2"]
                    yield f"wide {kind} {method} {solver} {center}", "wide", kind, options


def fit_record(program: Program, data: Path, model: Path, options: list[str]) -> Record:
    """The record of one case."""
    command = program.fit_command(data, model, "--threads", "2", *options)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"exit": done.returncode}
    found, scores = read_model(model), model.with_suffix(".npy")
    program.run("transform", model, data, "-o", scores)
    flags = subprocess.run([program.path, "outliers", model, data], check=True, capture_output=True)
    found["scores"] = hashlib.sha256(scores.read_bytes()).hexdigest()
    found["flags"] = hashlib.sha256(flags.stdout).hexdigest()
    return found


def record(program: Program) -> dict[str, Record]:
    """The records of all cases."""
    with tempfile.TemporaryDirectory(prefix="steradian-measure-") as scratch:
        folder = Path(scratch)
        for shape in SHAPES:
            for kind in TYPES:
                write_npy(folder / f"{shape}-{kind}.npy", SHAPES[shape], kind)

        def one(numbered: tuple[int, Case]) -> tuple[str, Record]:
            number, (name, shape, kind, options) = numbered
            model = folder / f"{number}.safetensors"
            return name, fit_record(program, folder / f"{shape}-{kind}.npy", model, options)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(pool.map(one, enumerate(cases())))


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Lines that name what differs between two records."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key, "absent"), new.get(key, "absent"), f"{path} {key}")
    elif old != new:
        yield f"{path.strip()}: {str(old)[:80]} -> {str(new)[:80]}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=absolute, help="JSON file of the records")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="TEXT", help="ignore differences whose path contains this text"
    )
    add_program(parser)


def run(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    """Runs the command."""
    del parser
    found = record(Program(asked.program))
    if asked.action == "record":
        asked.file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases, {sum('exit' in f for f in found.values())} of them rejected fits")
        return 0
    lines = list(differences(json.loads(asked.file.read_text()), found))
    lines = [line for line in lines if not any(text in line for text in asked.ignore)]
    print("\n".join(lines[:200]))
    print(f"{len(found)} cases compared, {len(lines)} differences")
    return int(bool(lines))
