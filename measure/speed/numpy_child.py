"""One run of a NumPy implementation; prints {"seconds", "peak_mib"} as JSON.

Usage: python -m measure.speed.numpy_child NAME MATRIX.npy D DEGREES COMPONENTS.npy

The time is measured from before the file is read until the components are computed; imports are done before. The peak
is that of the whole process, libraries included.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from measure.resident import peak_resident_mib
from measure.speed import numpy_methods


def main() -> None:
    """Times the implementation named on the command line."""
    name, matrix, d, degrees, output = sys.argv[1:6]
    numpy_methods.import_all()
    start = time.perf_counter()
    components = numpy_methods.METHODS[name](np.load(matrix), int(d), float(degrees))
    seconds = time.perf_counter() - start
    peak = peak_resident_mib()
    np.save(output, components)
    print(json.dumps({"seconds": seconds, "peak_mib": peak}))


if __name__ == "__main__":
    main()
