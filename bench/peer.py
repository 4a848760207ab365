"""Runs one peer once: python bench/peer.py NAME MATRIX.npy D DEGREES COMPONENTS.npy

Prints {"seconds", "peak_mb"} as json. The clock runs from before the file is read until the components are there;
imports are done before. The peak is that of this whole process, libraries included.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import peers
from process import peak_resident_mb


def main() -> None:
    """Times the peer named on the command line."""
    name, matrix, d, degrees, output = sys.argv[1:6]
    peers.import_all()
    start = time.perf_counter()
    components = peers.PEERS[name](np.load(matrix), int(d), float(degrees))
    seconds = time.perf_counter() - start
    peak = peak_resident_mb()
    np.save(output, components)
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main()
