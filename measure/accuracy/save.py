"""Writes the samples of a contamination model to a file.

Usage: python -m measure.accuracy.save NAME SEED FILE.npy        for example clu_0.2_15_3 0 cluster.npy
"""

from __future__ import annotations

import sys

import numpy as np

from measure.accuracy.cases import sample

if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    name, seed, path = sys.argv[1:]
    np.save(path, sample(name, int(seed)).observed)
