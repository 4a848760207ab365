"""One run of a baseline in NumPy; prints {"seconds", "steps", "residual"} as JSON.

Usage: python -m measure.speed.baseline_child tga|tga-tuned|pcp MATRIX.npy D

The time is measured from before the file is read until the components, or both parts, are computed.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from measure.arrays import Array

TOLERANCE = {"tga": 1e-4, "tga-tuned": 1e-4, "pcp": 1e-7}
MAX_STEPS = 200


def tga(data: Array, d: int) -> tuple[int, float]:
    """The steps and the last change of TGA with 50 % trimmed per end, by np.partition; samples are rows."""
    rows = data - data.mean(axis=0)
    middle = len(rows) // 2
    rng = np.random.default_rng(0)
    found: list[Array] = []
    steps, change = 0, np.inf
    for _ in range(d):
        q = rng.standard_normal(rows.shape[1])
        for _ in range(3):
            q = rows.T @ (rows @ q)
            q /= np.linalg.norm(q)
        for _ in range(MAX_STEPS):
            parted = np.partition(rows * np.sign(rows @ q)[:, None], (middle - 1, middle), axis=0)
            new = parted[middle] if len(rows) % 2 else parted[middle - 1 : middle + 1].mean(axis=0)
            new /= np.linalg.norm(new)
            change, q = float(np.abs(new - q).max()), new
            steps += 1
            if change < TOLERANCE["tga"]:
                break
        for other in found + found:
            q = q - other * (other @ q)
        q /= np.linalg.norm(q)
        found.append(q)
        rows = rows - np.outer(rows @ q, q)
    return steps, change


def tga_tuned(data: Array, d: int) -> tuple[int, float]:
    """TGA in f32 with the samples of a feature contiguous, which is faster for np.partition."""
    columns = np.ascontiguousarray(data.T, dtype=np.float32)
    columns -= columns.mean(axis=1, keepdims=True)
    middle = columns.shape[1] // 2
    rng = np.random.default_rng(0)
    found: list[Array] = []
    steps, change = 0, np.inf
    for _ in range(d):
        q = rng.standard_normal(len(columns)).astype(np.float32)
        for _ in range(3):
            q = columns @ (columns.T @ q)
            q /= np.linalg.norm(q)
        for _ in range(MAX_STEPS):
            turned = columns * np.sign(columns.T @ q)
            kth = middle if turned.shape[1] % 2 else (middle - 1, middle)
            parted = np.partition(turned, kth, axis=1)
            new = parted[:, middle] if turned.shape[1] % 2 else parted[:, middle - 1 : middle + 1].mean(axis=1)
            new = new / np.linalg.norm(new)
            change, q = float(np.abs(new - q).max()), new
            steps += 1
            if change < TOLERANCE["tga"]:
                break
        for other in found + found:
            q -= other * (other @ q)
        q /= np.linalg.norm(q)
        found.append(q)
        columns -= np.outer(q, columns.T @ q)
    return steps, change


def pcp(data: Array, d: int) -> tuple[int, float]:
    """The steps and the residual of principal component pursuit by inexact ALM with full SVDs, in f64."""
    del d  # PCP has no number of components
    m = data - data.mean(axis=0)
    shrink = 1 / np.sqrt(max(m.shape))
    spectral, length = np.linalg.norm(m, 2), np.linalg.norm(m)
    y = m / max(spectral, np.abs(m).max() / shrink)
    mu = 1.25 / spectral
    most, sparse = 1e7 * mu, np.zeros_like(m)
    step, residual = 0, np.inf
    while step < 1000 and residual >= TOLERANCE["pcp"]:
        step += 1
        left, sigma, right = np.linalg.svd(m - sparse + y / mu, full_matrices=False)
        sigma = sigma[sigma > 1 / mu] - 1 / mu
        low = (left[:, : len(sigma)] * sigma) @ right[: len(sigma)]
        target = m - low + y / mu
        sparse = np.sign(target) * np.maximum(np.abs(target) - shrink / mu, 0)
        rest = m - low - sparse
        y += mu * rest
        mu = min(1.5 * mu, most)
        residual = float(np.linalg.norm(rest) / length)
    return step, residual


def main() -> None:
    """Times the method named on the command line."""
    name, matrix, d = sys.argv[1:4]
    start = time.perf_counter()
    steps, residual = {"tga": tga, "tga-tuned": tga_tuned, "pcp": pcp}[name](np.load(matrix), int(d))
    print(json.dumps({"seconds": time.perf_counter() - start, "steps": steps, "residual": residual}))


if __name__ == "__main__":
    main()
