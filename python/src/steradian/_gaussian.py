"""The Gaussian model of a PCA: the components' covariance and noise of equal variance in all other directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    import numpy.typing as npt


class GaussianModel:
    """Covariance, precision and likelihood of an estimator with components, their variances and that of the noise."""

    components_: npt.NDArray[Any]
    explained_variance_: npt.NDArray[Any]
    mean_: npt.NDArray[Any]
    noise_variance_: float
    whiten: bool

    def get_covariance(self) -> npt.NDArray[Any]:
        """Covariance matrix of the Gaussian model.

        Returns
        -------
        ndarray of shape (n_features_in_, n_features_in_)
            ``components_.T @ diag(explained_variance_ - noise_variance_) @ components_ + noise_variance_ * eye``. As in
            scikit-learn, ``whiten=True`` multiplies the differences by `explained_variance_`.
        """
        check_is_fitted(self)
        components, noise = self.components_, float(self.noise_variance_)
        covariance = (components.T * self._above_noise()) @ components + noise * np.eye(components.shape[1])
        return np.asarray(covariance, dtype=components.dtype)

    def get_precision(self) -> npt.NDArray[Any]:
        """Precision matrix of the Gaussian model: the inverse of :meth:`get_covariance`.

        Returns
        -------
        ndarray of shape (n_features_in_, n_features_in_)
        """
        check_is_fitted(self)
        components, noise = self.components_, float(self.noise_variance_)
        if noise == 0:
            return np.asarray(_inverse(self.get_covariance()), dtype=components.dtype)
        shrinkage = self._shrinkage(noise)
        precision = (np.eye(components.shape[1]) - (components.T * shrinkage) @ components) / noise
        return np.asarray(precision, dtype=components.dtype)

    def _log_likelihoods(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The logarithm of the density of each row."""
        centered = np.asarray(rows, dtype=np.float64) - self.mean_
        noise, n_features = float(self.noise_variance_), centered.shape[1]
        if noise > 0:
            # No matrix of features by features: there may be many.
            scores = centered @ self.components_.T
            inside = np.sum(scores**2 * self._shrinkage(noise), axis=1)
            squares = (np.sum(centered**2, axis=1) - inside) / noise
            log_determinant = n_features * np.log(noise) + np.sum(np.log1p(self._above_noise() / noise))
        else:
            precision = np.asarray(self.get_precision(), dtype=np.float64)
            squares = np.sum((centered @ precision) * centered, axis=1)
            sign, logarithm = np.linalg.slogdet(precision)
            log_determinant = -logarithm if sign > 0 else np.inf
        return np.asarray(-0.5 * (squares + n_features * np.log(2 * np.pi) + log_determinant))

    def _above_noise(self) -> npt.NDArray[np.float64]:
        """Variances along the components without that of the noise."""
        variances = np.asarray(self.explained_variance_, dtype=np.float64)
        above = np.maximum(variances - float(self.noise_variance_), 0)
        return above * variances if self.whiten else above

    def _shrinkage(self, noise: float) -> npt.NDArray[np.float64]:
        """The fraction of the variance along each component that is not noise."""
        above = self._above_noise()
        return np.asarray(above / (above + noise), dtype=np.float64)


def deviations(variances: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Standard deviations to divide scores by; those of components without variance are raised to a small number."""
    variances = np.asarray(variances, dtype=np.float64)
    return np.asarray(np.maximum(np.sqrt(variances), np.finfo(np.float64).eps))


def _inverse(covariance: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return np.linalg.inv(covariance)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(covariance)
