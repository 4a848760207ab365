"""The two classifiers of the paper: RVFL with 50 sigmoid units, and XGBoost with parameters from a grid search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import GridSearchCV
from xgboost import XGBClassifier

UNITS = 50
RIDGE = 1e-3
"""Weight of the squared coefficients, relative to one sample."""

GRID = {"max_depth": [2, 4], "learning_rate": [0.1, 0.3]}
"""What is searched; the paper does not print its grid."""


class RVFL:
    """Random vector functional link (Pao et al. 1994): random sigmoid units beside the inputs, linear on top.

    Inputs are standardized; hidden weights and biases are uniform in [-1, 1]; outputs are one-hot classes by ridge
    regression.
    """

    def __init__(self, seed: int = 0, units: int = UNITS) -> None:
        self.seed = seed
        self.units = units

    def fit(self, samples: np.ndarray, labels: np.ndarray) -> RVFL:
        """Learns the linear map on top."""
        rng = np.random.default_rng(self.seed)
        self._mean, deviation = samples.mean(axis=0), samples.std(axis=0)
        self._scale = np.where(deviation > 0, deviation, 1)
        self._weights = rng.uniform(-1, 1, (samples.shape[1], self.units))
        self._biases = rng.uniform(-1, 1, self.units)
        self._classes = np.unique(labels)
        design = self._design(samples)
        targets = (labels[:, None] == self._classes).astype(float)
        self._map = np.linalg.solve(design.T @ design + RIDGE * np.eye(design.shape[1]), design.T @ targets)
        return self

    def score(self, samples: np.ndarray, labels: np.ndarray) -> float:
        """The fraction of samples that are classified correctly."""
        found = self._classes[np.argmax(self._design(samples) @ self._map, axis=1)]
        return float((found == labels).mean())

    def _design(self, samples: np.ndarray) -> np.ndarray:
        inputs = (samples - self._mean) / self._scale
        hidden = 1 / (1 + np.exp(-(inputs @ self._weights + self._biases)))
        return np.hstack([inputs, hidden, np.ones((len(inputs), 1))])


def rvfl(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], seed: int, trees: int) -> float:
    """Accuracy of RVFL in percent."""
    del trees  # it has none
    return 100 * RVFL(seed).fit(*train).score(*test)


def xgboost(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], seed: int, trees: int) -> float:
    """Accuracy of XGBoost in percent, parameters by grid search on the training part."""
    single = XGBClassifier(n_estimators=trees, random_state=seed, n_jobs=1, verbosity=0)
    search = GridSearchCV(single, GRID, cv=2, n_jobs=2).fit(*train)
    return 100 * float(search.score(*test))


CLASSIFIERS: dict[str, Callable[..., float]] = {"RVFL": rvfl, "XGBC": xgboost}
