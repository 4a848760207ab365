"""Files: headers of .npy files, atomic writes, temporary matrices, arrays of model files, the page cache."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from measure.arrays import Array

Out = TypeVar("Out")
CHUNK = 1 << 22


def npy_header(shape: tuple[int, ...], descr: str = "|u1") -> bytes:
    """The header of a .npy file in C order."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def write_atomically(path: Path, content: str | bytes | Callable[[Path], object]) -> Path:
    """Writes a temporary file and renames it; `content` is the content, or a function that writes a given path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    if isinstance(content, str):
        unfinished.write_text(content)
    elif isinstance(content, bytes):
        unfinished.write_bytes(content)
    else:
        content(unfinished)
    os.replace(unfinished, path)
    return path


def warm(path: Path) -> None:
    """Reads a file into the page cache."""
    with path.open("rb", buffering=0) as file:
        chunk = bytearray(CHUNK)
        while file.readinto(chunk):
            pass


def with_matrix(samples: Array, work: Callable[[Path], Out]) -> Out:
    """The result of some work on a matrix in a temporary .npy file, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="steradian-measure-") as folder:
        path = Path(folder) / "data.npy"
        np.save(path, samples)
        return work(path)


def read_tensor(path: Path, name: str) -> Array:
    """An f64 array of a safetensors file: eight bytes of length, a JSON header, then the values."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        entry = header[name]
        if entry["dtype"] != "F64":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, F64 was expected")
        begin, end = entry["data_offsets"]
        file.seek(begin, 1)
        return np.frombuffer(file.read(end - begin), "<f8").reshape(entry["shape"])


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a model file."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    found: dict[str, Any] = json.loads(header["__metadata__"]["steradian"])
    return found


def free_gb(folder: Path) -> float:
    """Free disk space in GB of 1e9 bytes."""
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize / 1e9
