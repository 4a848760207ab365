"""What one would write by hand with numpy, scipy and scikit-learn, and what scikit-learn offers.

Each peer takes the matrix as read, the number of components and the cone's angle, which only TAE heeds, and gives the
components as rows. All work in f32, the fast choice. Imports that only some need are in `IMPORTS`, so that they can
be done before the clock starts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

Top = Callable[[np.ndarray, int], np.ndarray]
Peer = Callable[[np.ndarray, int, float], np.ndarray]

IMPORTS = ("scipy.linalg", "scipy.sparse.linalg", "sklearn.decomposition", "sklearn.utils.extmath")


def import_all() -> None:
    """Imports whatever any peer needs."""
    for name in IMPORTS:
        importlib.import_module(name)


def directions(data: np.ndarray) -> np.ndarray:
    """Rows seen from their mean, scaled to length 1."""
    unit = data.astype(np.float32)
    unit -= unit.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return unit


def top_eigh(gram: np.ndarray, d: int) -> np.ndarray:
    """Top eigenvectors of a symmetric matrix by LAPACK, as columns, the largest first."""
    from scipy.linalg import eigh

    n = len(gram)
    return eigh(gram, subset_by_index=[n - d, n - 1], overwrite_a=True, check_finite=False)[1][:, ::-1]


def top_eigsh(gram: np.ndarray, d: int) -> np.ndarray:
    """The same by ARPACK."""
    from scipy.sparse.linalg import eigsh

    return eigsh(gram, k=d)[1][:, ::-1]


def back(vectors: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Components from eigenvectors of the n x n matrix."""
    components = vectors.T @ unit
    return components / np.linalg.norm(components, axis=1, keepdims=True)


def ae_svds(data: np.ndarray, d: int, _: float) -> np.ndarray:
    """AE through the singular vectors of the directions, by ARPACK."""
    from scipy.sparse.linalg import svds

    return svds(directions(data), k=d)[2][::-1]


def ae_randomized(data: np.ndarray, d: int, _: float) -> np.ndarray:
    """AE through scikit-learn's randomized singular vectors, at its defaults."""
    from sklearn.utils.extmath import randomized_svd

    return randomized_svd(directions(data), d, random_state=0)[2]


def ae_gram(data: np.ndarray, d: int, top: Top) -> np.ndarray:
    """AE through the n x n matrix of cosines. numpy knows that U U' is symmetric and does half of the work."""
    unit = directions(data)
    return back(top(unit @ unit.T, d), unit)


def tae(data: np.ndarray, d: int, degrees: float, top: Top) -> np.ndarray:
    """TAE: the sample with most others in its cone, these others, and the AE of them with the same mean."""
    unit = directions(data)
    cosines = unit @ unit.T
    inside = np.abs(cosines) >= np.float32(np.cos(np.radians(degrees)))
    pivot = int(np.argmax(np.count_nonzero(inside, axis=1)))
    kept = np.flatnonzero(inside[pivot])
    return back(top(cosines[np.ix_(kept, kept)], d), unit[kept])


def pca(data: np.ndarray, d: int, solver: str) -> np.ndarray:
    """scikit-learn's PCA of the same data in f32: another problem, for its time only."""
    from sklearn.decomposition import PCA

    return PCA(d, svd_solver=solver, random_state=0).fit(data.astype(np.float32)).components_


PEERS: dict[str, Peer] = {
    "ae-svds": ae_svds,
    "ae-gram-eigh": lambda data, d, _: ae_gram(data, d, top_eigh),
    "ae-gram-eigsh": lambda data, d, _: ae_gram(data, d, top_eigsh),
    "ae-randomized": ae_randomized,
    "tae-eigh": lambda data, d, degrees: tae(data, d, degrees, top_eigh),
    "tae-eigsh": lambda data, d, degrees: tae(data, d, degrees, top_eigsh),
    "pca-randomized": lambda data, d, _: pca(data, d, "randomized"),
    "pca-arpack": lambda data, d, _: pca(data, d, "arpack"),
}
