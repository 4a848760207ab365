#!/usr/bin/env python3
"""Checks that a change of the code changes no number: hashes of every array of every model, before and after.

    oracle.py record PROGRAM FILE       fit all cases with a program and write hashes and metadata to a file
    oracle.py compare PROGRAM FILE      fit them again and list what differs; exit code 1 if anything does

A case is a method, a solver, an element type and options. Its record has the sha256 of each array of the model file (under
names that do not depend on the version of the format), the metadata as JSON, the sha256 of the scores and flags of the same
data, and for a rejected fit the exit code. Bits depend on the instruction set, so record and compare on one machine.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import tempfile

# Names of arrays and metadata keys in older model files, and the names used here.
NEUTRAL = {
    "kept": "support", "shares": "angular_eigenvalues", "variances": "explained_variance",
    "n_kept": "n_support", "chosen": "n_components_reason", "cleaned_share": "cleaned_fraction",
    "element": "dtype", "image": "image_size", "angle": "max_angle", "angle_auto": "max_angle_auto",
    "directions": "n_directions", "scale": "scaling", "counting": "pivot_search",
}  # fmt: skip
# Facts about the file rather than the fit.
IGNORED = {"format"}

TYPES = {"u8": ("|u1", "B"), "u16": ("<u2", "H"), "f32": ("<f4", "f"), "f64": ("<f8", "d")}
SHAPES = {"tall": (300, 12), "wide": (40, 150), "blocks": (700, 30)}
METHODS = ["robust", "cells", "angular", "ae", "tae", "pca"]
BASELINES = ["empca", "emae", "ga", "tga", "pcp"]
SOLVERS = ["auto", "scatter", "gram", "krylov"]
OPTIONS = {
    "scaled": ["--scale", "mad"],
    "counted": ["-d", "auto"],
    "fraction": ["-d", "0.8"],
    "seed": ["--seed", "7"],
}
CONE_OPTIONS = {
    "angle": ["--angle", "auto"],
    "signed": ["--cosine", "signed", "--angle", "75"],
    "recenter": ["--recenter", "--ties", "density"],
}
CENTERS = ["mean", "median", "spatial-median", "none"]


def samples(shape, kind, seed=1):
    """Rank 3 with noise, a tenth of the rows shifted and some cells wrong, in the range of bytes."""
    draw = random.Random(f"{shape} {seed}")
    n, features = shape
    loadings = [[draw.gauss(0, 1) for _ in range(features)] for _ in range(3)]
    for i in range(n):
        scores = [draw.gauss(0, s) for s in (20, 12, 7)]
        shift = 70 if i % 10 == 3 else 0
        for j in range(features):
            value = 128 + sum(s * q[j] for s, q in zip(scores, loadings)) / 2 + draw.gauss(0, 2)
            value += shift * (1 if j % 3 else -1) + (90 if draw.random() < 0.01 else 0)
            value = min(max(value, 0.0), 255.0)
            yield round(value) if kind in ("u8", "u16") else value


def write_npy(path, shape, kind):
    descr, code = TYPES[kind]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    body = struct.pack(f"<{math.prod(shape)}{code}", *samples(shape, kind))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)


def neutral(value):
    if isinstance(value, dict):
        return {NEUTRAL.get(k, k): neutral(v) for k, v in sorted(value.items()) if k not in IGNORED}
    return [neutral(v) for v in value] if isinstance(value, list) else value


def read_model(path):
    """The hash of each array and the metadata of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = json.loads(header.pop("__metadata__")["steradian"])
    body = data[8 + length :]
    arrays = {
        NEUTRAL.get(name, name) if name != "scale" else name: hashlib.sha256(
            f"{a['dtype']} {a['shape']} ".encode() + body[slice(*a["data_offsets"])]
        ).hexdigest()
        for name, a in header.items()
    }
    return {"arrays": dict(sorted(arrays.items())), "metadata": neutral(metadata)}


def cases():
    for shape in SHAPES:
        for kind in TYPES:
            for method in METHODS:
                for solver in SOLVERS:
                    yield f"{shape} {kind} {method} {solver}", shape, kind, [
                        "--method", method, "--solver", solver, "-d", "2"]  # fmt: skip
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
            for method in ("ae", "tae", "robust"):
                for solver in ("gram", "krylov"):
                    yield f"wide {kind} {method} {solver} {center}", "wide", kind, [
                        "--method", method, "--solver", solver, "--center", center, "-d", "2"]  # fmt: skip


def record(program):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for shape in SHAPES:
            for kind in TYPES:
                write_npy(folder / f"{shape}-{kind}.npy", SHAPES[shape], kind)

        def fit(numbered):
            number, (name, shape, kind, options) = numbered
            data, model, scores = folder / f"{shape}-{kind}.npy", folder / f"{number}.st", folder / f"{number}.npy"
            done = subprocess.run(
                [program, "fit", data, "-o", model, "--threads", "2", *options], capture_output=True, text=True
            )
            if done.returncode:
                return name, {"exit": done.returncode}
            out = read_model(model)
            subprocess.run([program, "transform", model, data, "-o", scores], check=True, capture_output=True)
            flags = subprocess.run([program, "outliers", model, data], check=True, capture_output=True)
            out["scores"] = hashlib.sha256(scores.read_bytes()).hexdigest()
            out["flags"] = hashlib.sha256(flags.stdout).hexdigest()
            return name, out

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(pool.map(fit, enumerate(cases())))


def differences(old, new, path=""):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key, "absent"), new.get(key, "absent"), f"{path} {key}")
    elif old != new:
        yield f"{path.strip()}: {str(old)[:80]} -> {str(new)[:80]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("program")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--ignore", action="append", default=[], help="ignore differences whose path contains this text")
    args = parser.parse_args()
    found = record(args.program)
    if args.command == "record":
        args.file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases, {sum('exit' in f for f in found.values())} of them rejected fits")
        return 0
    lines = list(differences(json.loads(args.file.read_text()), found))
    lines = [line for line in lines if not any(text in line for text in args.ignore)]
    print("\n".join(lines[:200]))
    print(f"{len(found)} cases compared, {len(lines)} differences")
    return bool(lines)


if __name__ == "__main__":
    raise SystemExit(main())
