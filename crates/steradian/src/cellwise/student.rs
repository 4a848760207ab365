//! The weight of a row under a multivariate t distribution, and its part of the objective.
//!
//! | symbol | definition |
//! |---|---|
//! | nu | 5, or infinite for normal rows |
//! | kappa | min(1, max(n / 2, 10) / (D - d)): it keeps weights of wide data away from 0 and 1 |
//! | k | kappa f, f the degrees of freedom of the row |
//! | delta | sum of squared scores over lambda, plus kappa times the squared residuals over sigma^2 |
//! | w | (nu + d + k) / (nu + delta) |
//! | Phi | sum over rows of (nu + d + k) log(nu + delta) + k log sigma^2 + sum of log lambda |
//!
//! With infinite nu, w is 1 and the first term of Phi is delta.

use super::features::TINY;
use super::row_model::RowModel;

/// Degrees of freedom of the distribution.
pub(crate) const NU: f64 = 5.0;

/// The weights of rows under a model.
#[derive(Debug, Clone)]
pub(crate) struct StudentWeights {
    variances: Vec<f64>,
    noise: f64,
    kappa: f64,
    nu: f64,
    log_variances: f64,
}

/// The factor of the residuals in the distance of a row, for `n` rows, D features and d components.
pub(crate) fn kappa(n: usize, features: usize, d: usize) -> f64 {
    ((n as f64 / 2.0).max(10.0) / (features.saturating_sub(d).max(1)) as f64).min(1.0)
}

impl StudentWeights {
    pub(crate) fn new(variances: &[f64], noise: f64, kappa: f64, nu: f64) -> Self {
        let noise = noise.max(TINY);
        let variances: Vec<f64> = variances.iter().map(|lambda| lambda.max(noise)).collect();
        let log_variances = variances.iter().map(|lambda| lambda.ln()).sum();
        Self { variances, noise, kappa, nu, log_variances }
    }

    pub(crate) fn of(model: &RowModel, kappa: f64, nu: f64) -> Self {
        Self::new(&model.variances, model.noise, kappa, nu)
    }

    /// The squared distance delta of a row, and its number of dimensions d + k, from its scores, its squared residuals and their
    /// degrees of freedom.
    pub(crate) fn distance(&self, scores: &[f64], square: f64, freedom: f64) -> (f64, f64) {
        let along: f64 = scores.iter().zip(&self.variances).map(|(s, lambda)| s * s / lambda).sum();
        (along + self.kappa * square / self.noise, scores.len() as f64 + self.kappa * freedom)
    }

    /// Weight and objective of a row from the same numbers.
    pub(crate) fn weight(&self, scores: &[f64], square: f64, freedom: f64) -> (f64, f64) {
        let (distance, dimensions) = self.distance(scores, square, freedom);
        let scales = self.kappa * freedom * self.noise.ln() + self.log_variances;
        if self.nu == f64::INFINITY {
            return (1.0, distance + scales);
        }
        let parameters = self.nu + dimensions;
        (parameters / (self.nu + distance), parameters * (self.nu + distance).ln() + scales)
    }
}
