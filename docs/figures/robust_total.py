"""Bias of the robust estimate R of the variance outside the subspace, for normal samples.

Usage: python docs/figures/robust_total.py

R = m^3 + 3 m s^2, where m and s are location and scale of the bulk of OD^(2/3); see "Total variance" in docs/maths.md
and `mean_square` in crates/steradian/src/fit/total_variance.rs. Prints R / E[OD^2] - 1 for several spectra of the
remaining dimensions, with 1,000,000 samples and a fixed seed. Needs NumPy.
"""

import numpy as np

SAMPLES = 1_000_000
HALF_VARIANCE = 0.1426326  # of the middle half of a standard normal distribution
TRUNCATED_VARIANCE = 0.9105  # E[z^2 given |z| < 2.5]
SPECTRA = {
    "1 dimension": [1.0],
    "2 equal": [1.0] * 2,
    "3 equal": [1.0] * 3,
    "10 equal": [1.0] * 10,
    "100 equal": [1.0] * 100,
    "2, ratio 20": [20.0, 1.0],
    "10, 1 / j": [1 / j for j in range(1, 11)],
    "10, 0.5^j": [0.5**j for j in range(10)],
}


def bulk(values: np.ndarray) -> tuple[float, float]:
    """Location and scale: the half of least variance, then four rounds of mean and deviation within 2.5 scales."""
    values = np.sort(values)
    h = len(values) // 2 + 1
    sums, squares = (np.concatenate([[0.0], np.cumsum(values**k)]) for k in (1, 2))
    means = (sums[h:] - sums[:-h]) / h
    variances = (squares[h:] - squares[:-h]) / h - means**2
    best = variances.argmin()
    location, scale = means[best], np.sqrt(variances[best] / HALF_VARIANCE)
    for _ in range(4):
        inner = values[np.abs(values - location) <= 2.5 * scale]
        location, scale = inner.mean(), inner.std() / np.sqrt(TRUNCATED_VARIANCE)
    return location, scale


def main() -> None:
    """Prints the table."""
    rng = np.random.default_rng(0)
    for name, spectrum in SPECTRA.items():
        squared = np.zeros(SAMPLES)
        for variance in spectrum:
            squared += variance * rng.standard_normal(SAMPLES) ** 2
        location, scale = bulk(squared ** (1 / 3))
        estimate = location**3 + 3 * location * scale**2
        print(f"{name:12} {100 * (estimate / sum(spectrum) - 1):+5.1f} %")


if __name__ == "__main__":
    main()
