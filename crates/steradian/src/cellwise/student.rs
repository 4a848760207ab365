//! The weight of a row under a multivariate t distribution, and its part of the objective.
//!
//! | symbol | definition |
//! |---|---|
//! | nu | 5 |
//! | kappa | min(1, max(n / 2, 10) / (D - d)): it keeps weights of wide data away from 0 and 1 |
//! | k | kappa f, f the degrees of freedom of the row |
//! | delta | sum of squared scores over lambda, plus kappa times the squared residuals over sigma^2 |
//! | w | (nu + d + k) / (nu + delta) |
//! | Phi | sum over rows of (nu + d + k) log(nu + delta) + k log sigma^2 + sum of log lambda |

use super::features::TINY;
use super::row_model::RowModel;

/// Degrees of freedom of the distribution.
const NU: f64 = 5.0;

/// The weights of rows under a model.
#[derive(Debug, Clone)]
pub(crate) struct StudentWeights {
    variances: Vec<f64>,
    noise: f64,
    kappa: f64,
    log_variances: f64,
}

/// The factor of the residuals in the distance of a row, for `n` rows, D features and d components.
pub(crate) fn kappa(n: usize, features: usize, d: usize) -> f64 {
    ((n as f64 / 2.0).max(10.0) / (features.saturating_sub(d).max(1)) as f64).min(1.0)
}

impl StudentWeights {
    pub(crate) fn new(variances: &[f64], noise: f64, kappa: f64) -> Self {
        let noise = noise.max(TINY);
        let variances: Vec<f64> = variances.iter().map(|lambda| lambda.max(noise)).collect();
        let log_variances = variances.iter().map(|lambda| lambda.ln()).sum();
        Self { variances, noise, kappa, log_variances }
    }

    pub(crate) fn of(model: &RowModel, kappa: f64) -> Self {
        Self::new(&model.variances, model.noise, kappa)
    }

    /// Weight and objective of a row from its scores, its squared residuals and their degrees of freedom.
    pub(crate) fn weight(&self, scores: &[f64], square: f64, freedom: f64) -> (f64, f64) {
        let along: f64 = scores.iter().zip(&self.variances).map(|(s, lambda)| s * s / lambda).sum();
        let distance = along + self.kappa * square / self.noise;
        let k = self.kappa * freedom;
        let parameters = NU + scores.len() as f64 + k;
        let objective = parameters * (NU + distance).ln() + k * self.noise.ln() + self.log_variances;
        (parameters / (NU + distance), objective)
    }
}
