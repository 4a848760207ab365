"""Robust PCA for data with outliers: scikit-learn estimators that read data in place.

The estimators follow scikit-learn's conventions. Data may be arrays of any memory order, memory maps, data frames or
paths of files; they are read block by block and never copied as a whole.
"""

from steradian._angular import AngularEmbedding
from steradian._data import Samples, open  # noqa: A004
from steradian._diagnosis import Diagnosis
from steradian._empca import EMPCA
from steradian._grassmann import GrassmannAverage
from steradian._incremental import IncrementalPCA
from steradian._load import load
from steradian._pca import PCA
from steradian._progress import Progress
from steradian._pursuit import PrincipalComponentPursuit
from steradian._screens import ConeScreen, OutlyingnessScreen

__all__ = [
    "EMPCA",
    "PCA",
    "AngularEmbedding",
    "ConeScreen",
    "Diagnosis",
    "GrassmannAverage",
    "IncrementalPCA",
    "OutlyingnessScreen",
    "PrincipalComponentPursuit",
    "Progress",
    "Samples",
    "load",
    "open",
]
