"""Classical PCA by batches of samples that arrive one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from steradian import _parameters as parameters
from steradian._data import Samples, SamplesLike, read
from steradian._decomposition import is_sparse, with_signs
from steradian._gaussian import GaussianModel, deviations
from steradian._names import check_names, check_width, set_feature_names

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from typing_extensions import Self


class IncrementalPCA(GaussianModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Classical PCA by batches (Ross et al. 2008): each batch updates the components.

    A replacement of `sklearn.decomposition.IncrementalPCA`, with its parameters, attributes and numbers. It is for
    samples that arrive one batch after another, and approximate where components are left out between batches;
    :class:`PCA` reads data larger than memory without this loss.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None for as many as the first batch has samples or features.
    whiten : bool, default=False
        Divide scores by the square roots of `explained_variance_`.
    copy : bool, default=True
        Ignored: data are never modified.
    batch_size : int or None, default=None
        Number of samples of a batch of :meth:`fit`; None for five times the number of features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Principal axes, by decreasing variance; float32 for float32 data. The entry of largest magnitude is positive.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances along the components (divisor n - 1).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Their fractions of the total variance.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the centered samples.
    mean_, var_ : ndarray of shape (n_features_in_,)
        Means and variances (divisor n) of the features.
    noise_variance_ : float
        Mean of the variances outside of the components, as of the last batch.
    n_components_, n_samples_seen_, batch_size_ : int
        Number of components, of samples so far, and of samples of a batch of :meth:`fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from steradian import IncrementalPCA
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [-2.0, -4.1]])
    >>> model = IncrementalPCA(1)
    >>> for batch in (X[:2], X[2:]):
    ...     model = model.partial_fit(batch)
    >>> model.components_.round(2)
    array([[0.44, 0.9 ]])
    """

    components_: npt.NDArray[Any]
    explained_variance_: npt.NDArray[np.float64]
    explained_variance_ratio_: npt.NDArray[np.float64]
    singular_values_: npt.NDArray[np.float64]
    mean_: npt.NDArray[np.float64]
    var_: npt.NDArray[np.float64]
    noise_variance_: float
    n_components_: int
    n_samples_seen_: int
    n_features_in_: int
    batch_size_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: bool = False,
        copy: bool = True,
        batch_size: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    def fit(self, X: SamplesLike, y: object = None) -> Self:  # noqa: ARG002
        """Fit to samples, batch by batch. After a failure the estimator is not fitted.

        Parameters
        ----------
        X : array of (samples, features) or (samples, height, width), data frame, path, Samples or sparse matrix
            Only one batch is copied at a time.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        self._reset()
        try:
            self._check_parameters()
            rows, (n_samples, n_features) = self._rows_of(X, reset=True)
            self.batch_size_ = 5 * n_features if self.batch_size is None else int(self.batch_size)
            for batch in gen_batches(n_samples, self.batch_size_, min_batch_size=self.n_components or 0):
                self._update(rows(batch))
        except BaseException:
            self._reset()
            raise
        return self

    def partial_fit(self, X: SamplesLike, y: object = None, check_input: bool = True) -> Self:  # noqa: ARG002
        """Update the fit by one batch. After a failure the fit is that of the batches before.

        Parameters
        ----------
        X : array of (samples, features) or (samples, height, width), data frame, path or Samples
            The batch; the first one has at least `n_components` samples.
        y : ignored
            Present for scikit-learn's pipelines.
        check_input : bool, default=True
            Ignored: each batch is checked.

        Returns
        -------
        self
        """
        if is_sparse(X):
            msg = (
                "IncrementalPCA.partial_fit does not support sparse input. Either convert data to dense or use "
                "IncrementalPCA.fit to do so in batches."
            )
            raise TypeError(msg)
        self._check_parameters()
        first = not hasattr(self, "components_")
        try:
            rows, (n_samples, _) = self._rows_of(X, reset=first)
            self._update(rows(slice(0, n_samples)))
        except BaseException:
            if first:
                self._reset()
            raise
        return self

    def transform(self, X: SamplesLike) -> npt.NDArray[Any]:
        """Scores of samples: coordinates of the centered samples along the components.

        Parameters
        ----------
        X : see :meth:`fit`
            Samples with the features of the fit.

        Returns
        -------
        ndarray of shape (samples, n_components_)
            float32 for float32 data, else float64.
        """
        check_is_fitted(self)
        rows, (n_samples, _) = self._rows_of(X, reset=False, least=0)
        table = rows(slice(0, n_samples))
        scores = (table - self.mean_) @ np.asarray(self.components_, dtype=np.float64).T
        if self.whiten:
            scores /= deviations(self.explained_variance_)
        return scores.astype(table.dtype, copy=False)

    def inverse_transform(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Reconstructions from scores: the points of the subspace with these coordinates.

        Parameters
        ----------
        X : array of shape (samples, n_components_)
            Scores, as from :meth:`transform`.

        Returns
        -------
        ndarray of shape (samples, n_features_in_)
        """
        check_is_fitted(self)
        scores = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if scores.shape[1] != self.n_components_:
            msg = f"X has {scores.shape[1]} scores per sample, but {self.n_components_} components were fitted"
            raise ValueError(msg)
        factors = deviations(self.explained_variance_) if self.whiten else 1.0
        rows = (scores * factors) @ np.asarray(self.components_, dtype=np.float64) + self.mean_
        reconstructed: npt.NDArray[Any] = rows.astype(scores.dtype, copy=False)
        return reconstructed

    def _update(self, rows: npt.NDArray[Any]) -> None:
        """Update the fitted attributes by the rows of a batch."""
        dtype, rows = rows.dtype, rows.astype(np.float64, copy=False)
        count = self._count(rows.shape)
        new, mean, variance = len(rows), rows.mean(axis=0), rows.var(axis=0)
        # The earlier rows enter as their components, and as their mean.
        stacked = [rows - mean]
        total = new
        if hasattr(self, "components_"):
            seen, step = self.n_samples_seen_, mean - self.mean_
            total = seen + new
            shift = np.sqrt(seen * (new / total)) * step
            earlier = self.singular_values_[:, None] * np.asarray(self.components_, dtype=np.float64)
            stacked = [earlier, *stacked, shift[None, :]]
            variance = (seen * self.var_ + new * variance + shift**2) / total
            mean = self.mean_ + step * (new / total)
        _, singular, components = np.linalg.svd(np.vstack(stacked), full_matrices=False)
        variances = singular**2 / max(total - 1, 1)
        whole = float(np.sum(variance)) * total
        self.n_samples_seen_ = total
        self.mean_, self.var_ = mean, variance
        self.components_ = with_signs(components[:count]).astype(dtype)
        self.n_components_ = count
        self.singular_values_ = singular[:count].copy()
        self.explained_variance_ = variances[:count].copy()
        ratios = singular[:count] ** 2 / whole if whole > 0 else np.zeros(count)
        self.explained_variance_ratio_ = ratios
        self.noise_variance_ = 0.0 if count in rows.shape else float(np.mean(variances[count:]))

    def _count(self, shape: tuple[int, ...]) -> int:
        """The number of components that a batch of a shape leads to."""
        n_samples, n_features = shape
        is_first = not hasattr(self, "components_")
        count = self.n_components
        if count is None:
            return min(n_samples, n_features) if is_first else len(self.components_)
        if count > n_features:
            msg = (
                f"n_components={count} invalid for n_features={n_features}, need more rows than columns for "
                f"IncrementalPCA processing; use at most {n_features} components"
            )
            raise ValueError(msg)
        if is_first and count > n_samples:
            msg = (
                f"n_components={count} must be less or equal to the batch number of samples {n_samples} for the first "
                f"partial_fit call. Use at least {count} samples, or at most {n_samples} components"
            )
            raise ValueError(msg)
        if not is_first and count != len(self.components_):
            msg = (
                f"n_components={count}, but the batches before had {len(self.components_)} components; set "
                "n_components to the same number, or fit again"
            )
            raise ValueError(msg)
        return int(count)

    def _rows_of(
        self, X: SamplesLike, *, reset: bool, least: int = 1
    ) -> tuple[Callable[[slice], npt.NDArray[Any]], tuple[int, int]]:
        """A function that returns some rows as a new array of floating-point numbers, and the shape."""
        if is_sparse(X):
            matrix = validate_data(
                self, X, dtype=[np.float64, np.float32], accept_sparse=("csr",), reset=reset, ensure_min_samples=least
            )
            return lambda batch: np.asarray(matrix[batch].toarray()), matrix.shape
        samples = read(X, reader=type(self).__name__, minimum=least, missing="error")
        if reset:
            self.n_features_in_ = samples.shape[1]
            set_feature_names(self, samples.feature_names)
        else:
            check_names(self, X, samples)
            check_width(self, samples)
        single = samples.dtype == "float32" and getattr(X, "dtype", np.float32) == np.float32
        dtype = np.float32 if single else np.float64
        return lambda batch: _taken(samples, batch).astype(dtype, copy=False), samples.shape

    def _check_parameters(self) -> None:
        parameters.flag("whiten", self.whiten)
        parameters.flag("copy", self.copy)
        for name in ("n_components", "batch_size"):
            if getattr(self, name) is not None:
                parameters.count(name, getattr(self, name))

    def _reset(self) -> None:
        """Delete the fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags


def _taken(samples: Samples, batch: slice) -> npt.NDArray[Any]:
    """Some rows, without missing or infinite cells."""
    rows = samples.take(range(batch.start, batch.stop))
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        kind = "NaN" if np.isnan(rows).any() else "infinity"
        msg = (
            f"Input X contains {kind} in {bad.size} of the rows {batch.start} to {batch.stop - 1}, first in row "
            f'{batch.start + bad[0]}; drop or fill these rows, or use steradian.PCA(missing="use")'
        )
        raise ValueError(msg)
    return rows
