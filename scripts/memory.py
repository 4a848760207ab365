"""Fits 2 GB of u8 samples with the program given and measures its memory above the file's pages.

Usage: python3 scripts/memory.py PROGRAM [SAMPLES FEATURES]

The anonymous part of the resident memory (RssAnon and RssShmem in /proc) is read every few milliseconds while the
program runs; pages of the mapped file are not in it. Fails when the peak is above 150 MB. Linux only, no packages.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

from resident import watch

LIMIT_MB = 150


def write_samples(path, samples, features):
    """Rows of a pattern that moves and brightens, with noise: a few strong directions and many weak ones."""
    random.seed(7)
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({samples}, {features}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    patterns = [bytes(64 + (i * k // 7) % 64 for i in range(2 * features)) for k in (1, 3, 11)]
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for row in range(samples):
            pattern = int.from_bytes(patterns[row % 3][row % 61 : row % 61 + features], "little")
            # Each byte of the pattern is below 128, so noise below 128 can be added without a carry.
            noise = int.from_bytes(random.randbytes(features), "little") & NOISE[features]
            out.write((pattern + noise).to_bytes(features, "little"))


class Noise(dict):
    """For each width, a mask that leaves noise of 0 to 31 in every byte."""

    def __missing__(self, features):
        self[features] = int.from_bytes(b"\x1f" * features, "little")
        return self[features]


NOISE = Noise()


def main():
    program = sys.argv[1]
    samples, features = (int(x) for x in sys.argv[2:4]) if len(sys.argv) > 3 else (20_000, 107_520)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data.npy")
        write_samples(data, samples, features)
        print(f"{samples} x {features} u8, {os.path.getsize(data) / 1e9:.2f} GB")
        for method in ("ae", "angular"):
            model = os.path.join(folder, "model.safetensors")
            try:
                peak, printed = watch([program, "fit", data, "-o", model, "--method", method, "-d", "5", "--json"])
            except subprocess.CalledProcessError as error:
                sys.exit(f"{program} ended with {error.returncode}")
            report = json.loads(printed)
            failed |= peak > LIMIT_MB
            print(
                f"{method}: {report['solver']}, {report['passes']} passes, {report['seconds']:.1f} s, "
                f"sine bound {report['sine_bound']:.1e}, peak {peak:.0f} MB above the file's pages (limit {LIMIT_MB})"
            )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
