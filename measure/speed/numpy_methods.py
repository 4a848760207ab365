"""Reference implementations of AE and TAE with NumPy, SciPy and scikit-learn, and the PCA of scikit-learn.

Each takes the matrix as read, the number of components and the half-angle of the cone, which only TAE uses, and gives
the components as rows. All compute in f32, which is the fastest. Imports that only some need are in `IMPORTS`, so that
they can be done before the time is measured.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from measure.arrays import Array

Top = Callable[[Array, int], Array]
Method = Callable[[Array, int, float], Array]

IMPORTS = ("scipy.linalg", "scipy.sparse.linalg", "sklearn.decomposition", "sklearn.utils.extmath")


def import_all() -> None:
    """Imports the modules that any implementation needs."""
    for name in IMPORTS:
        importlib.import_module(name)


def directions(data: Array) -> Array:
    """Rows centered at their mean and scaled to norm 1."""
    unit = data.astype(np.float32)
    unit -= unit.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return unit


def top_eigh(gram: Array, d: int) -> Array:
    """Top eigenvectors of a symmetric matrix by LAPACK, as columns, the largest eigenvalue first."""
    from scipy.linalg import eigh

    n = len(gram)
    vectors: Array = eigh(gram, subset_by_index=[n - d, n - 1], overwrite_a=True, check_finite=False)[1]
    return vectors[:, ::-1]


def top_eigsh(gram: Array, d: int) -> Array:
    """Top eigenvectors of a symmetric matrix by ARPACK, as columns, the largest eigenvalue first."""
    from scipy.sparse.linalg import eigsh

    vectors: Array = eigsh(gram, k=d)[1]
    return vectors[:, ::-1]


def back(vectors: Array, unit: Array) -> Array:
    """Components from eigenvectors of the n x n matrix."""
    components: Array = vectors.T @ unit
    components /= np.linalg.norm(components, axis=1, keepdims=True)
    return components


def ae_svds(data: Array, d: int, _: float) -> Array:
    """AE by the singular vectors of the directions, by ARPACK."""
    from scipy.sparse.linalg import svds

    vectors: Array = svds(directions(data), k=d)[2]
    return vectors[::-1]


def ae_randomized(data: Array, d: int, _: float) -> Array:
    """AE by the randomized SVD of scikit-learn at its defaults."""
    from sklearn.utils.extmath import randomized_svd

    vectors: Array = randomized_svd(directions(data), d, random_state=0)[2]
    return vectors


def ae_gram(data: Array, d: int, top: Top) -> Array:
    """AE by the n x n matrix of cosines; NumPy uses the symmetry of U U' and computes half of it."""
    unit = directions(data)
    return back(top(unit @ unit.T, d), unit)


def tae(data: Array, d: int, degrees: float, top: Top) -> Array:
    """TAE: the pivot whose cone has most samples, and AE of these samples about the mean of all."""
    unit = directions(data)
    cosines = unit @ unit.T
    inside = np.abs(cosines) >= np.float32(np.cos(np.radians(degrees)))
    pivot = int(np.argmax(np.count_nonzero(inside, axis=1)))
    support = np.flatnonzero(inside[pivot])
    return back(top(cosines[np.ix_(support, support)], d), unit[support])


def pca(data: Array, d: int, solver: str) -> Array:
    """Classical PCA of scikit-learn in f32, for comparison of the time only."""
    from sklearn.decomposition import PCA

    components: Array = PCA(d, svd_solver=solver, random_state=0).fit(data.astype(np.float32)).components_
    return components


METHODS: dict[str, Method] = {
    "ae-svds": ae_svds,
    "ae-gram-eigh": lambda data, d, _: ae_gram(data, d, top_eigh),
    "ae-gram-eigsh": lambda data, d, _: ae_gram(data, d, top_eigsh),
    "ae-randomized": ae_randomized,
    "tae-eigh": lambda data, d, degrees: tae(data, d, degrees, top_eigh),
    "tae-eigsh": lambda data, d, degrees: tae(data, d, degrees, top_eigsh),
    "pca-randomized": lambda data, d, _: pca(data, d, "randomized"),
    "pca-arpack": lambda data, d, _: pca(data, d, "arpack"),
}
