"""Parquet files of pyarrow: the command line reads the values of the array."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow writes the files of these tests")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow writes the files of these tests")


def run(program: str, *arguments: object) -> None:
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def scores(program: str, data: Path, *options: str) -> np.ndarray:
    model, out = data.with_suffix(".safetensors"), data.with_suffix(".scores.npy")
    run(program, "fit", data, "-o", model, "--method", "angular", "-d", 2, *options)
    run(program, "transform", model, data, "-o", out, *options)
    return np.load(out)


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_as_the_array(program, table, tmp_path, codec, version, dtype):
    table = table.astype(dtype)
    np.save(tmp_path / "array.npy", table)
    columns = {f"V{j}": table[:, j] for j in range(table.shape[1])}
    path = tmp_path / "table.parquet"
    parquet.write_table(pyarrow.table(columns), path, row_group_size=70, compression=codec, data_page_version=version)
    np.testing.assert_array_equal(scores(program, path), scores(program, tmp_path / "array.npy"))


def test_kinds_nulls_and_text(program, table, tmp_path):
    n = len(table)
    columns = {
        "name": [f"row {i}" for i in range(n)],
        "kind": pyarrow.array(["a", "b"] * (n // 2)).dictionary_encode(),
        "integer": pyarrow.array(np.round(table[:, 0]).astype(np.int16)),
        "tiny": pyarrow.array((np.arange(n) % 256).astype(np.uint8)),
        "flag": pyarrow.array(table[:, 1] > 3),
        "real": pyarrow.array(table[:, 2], mask=np.arange(n) % 10 == 3),
        "half": pyarrow.array(table[:, 3].astype(np.float16)),
        "when": pyarrow.array(np.arange(n), pyarrow.timestamp("ms")),
    }
    path = tmp_path / "table.parquet"
    parquet.write_table(pyarrow.table(columns), path, row_group_size=64)
    options = ("--row-names", "--columns", "numeric", "--missing", "drop")
    expected = np.column_stack(
        [
            np.round(table[:, 0]).astype(np.int16),
            np.arange(n) % 256,
            table[:, 1] > 3,
            table[:, 2],
            table[:, 3].astype(np.float16),
        ]
    ).astype(np.float64)
    np.save(tmp_path / "array.npy", expected[np.arange(n) % 10 != 3])
    np.testing.assert_array_equal(scores(program, path, *options), scores(program, tmp_path / "array.npy"))
    command = [program, "fit", path, "-o", tmp_path / "m.safetensors"]
    rejected = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert rejected.returncode == 3
    for words in (
        'column "name" (text, first of 3 such columns)',
        "5 numeric columns integer, tiny, flag, real, half;",
    ):
        assert words in rejected.stderr
