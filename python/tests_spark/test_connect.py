"""Data frames of Spark Connect, whose session has no context: identical bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import dask.array as da
import numpy as np

from steradian import PCA

PROGRAM = """
import hashlib
from pyspark.sql import SparkSession
from steradian import PCA

spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert not hasattr(spark, "sparkContext")
frame = spark.range(0, 90, 1, 3).selectExpr("id as a", "cast(id * id % 11 as float) as b", "id % 7 as c")
model = PCA(2).fit(frame)
print(hashlib.sha256(model._model.to_bytes()).hexdigest(), *model.transform(frame).first().scores)
try:
    model.fit(frame, callback=lambda _: spark.stop())
except ConnectionError as error:
    print(error)
"""


def test_identical_bytes_through_connect(tmp_path: Path) -> None:
    # The server of such a session has a separate address.
    arguments = os.environ["PYSPARK_SUBMIT_ARGS"]
    local = {"PYSPARK_SUBMIT_ARGS": f"--conf spark.connect.grpc.binding.address=127.0.0.1 {arguments}"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | local, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    i = np.arange(90.0)
    X = np.column_stack([i, i * i % 11, i % 7])
    model = PCA(2).fit(da.from_array(X, chunks=(30, -1)))
    first, second = done.stdout.splitlines()
    digest, *scores = first.split()
    np.testing.assert_allclose([float(score) for score in scores], model.transform(X)[0], rtol=1e-9)
    assert digest == hashlib.sha256(model._model.to_bytes()).hexdigest()
    assert "lost the Spark session during pass 2" in second
