//! The certificate: how far a computed subspace can be from the exact one.
//!
//! | symbol | here |
//! |---|---|
//! | Q, k = d + 1 orthonormal columns | `vectors` |
//! | theta_i, Ritz values | `values` |
//! | r_i = A q_i - theta_i q_i | `residuals[i]` = norm(r_i) |
//!
//! sin of the largest angle <= sqrt(sum_i (norm(r_i) / (theta_i - l))^2) with l = theta_{d+1} + norm(r_{d+1}), an
//! estimate from above of the largest eigenvalue outside. It holds unless the random start missed a direction.
//! Cost: one application of the operator.

use super::operator::Operator;
use crate::error::Result;
use crate::linalg::{Matrix, orthonormalize, product, symmetric_eigen, tall_inner, tall_subtract};
use crate::run::Runner;

/// Vectors with what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct Certified {
    /// Eigenvalues of A, largest first.
    pub values: Vec<f64>,
    /// Orthonormal columns.
    pub vectors: Matrix,
    /// norm(A q - theta q) of each column, with what rounding may hide.
    pub residuals: Vec<f64>,
    /// The largest residual of the first d columns, relative to the largest eigenvalue.
    pub residual: f64,
    /// An upper bound on the sine of the largest angle.
    pub sine_bound: f64,
}

/// The bound of the head of this file, for the first `d` of some Ritz values.
pub(crate) fn sine_bound(values: &[f64], residuals: &[f64], d: usize) -> f64 {
    let outside = if values.len() > d { values[d] + residuals[d] } else { 0.0 };
    let mut square = 0.0;
    for (theta, r) in values.iter().zip(residuals).take(d) {
        let gap = theta - outside;
        if gap <= 0.0 {
            return 1.0;
        }
        square += (r / gap).powi(2);
    }
    square.sqrt().min(1.0)
}

/// Rotates some vectors to the eigenvectors of A within their span, and measures what is left outside of it.
pub(crate) fn certify(
    operator: &impl Operator,
    mut vectors: Matrix,
    d: usize,
    runner: &impl Runner,
) -> Result<Certified> {
    runner.compute(|| orthonormalize(&mut vectors, 0.0).map(|_| ()))?;
    let z = operator.apply(&vectors)?;
    runner.compute(|| {
        let h = tall_inner(&vectors, &z);
        let (values, rotation) = symmetric_eigen(&symmetric_part(&h))?;
        let vectors = product(&vectors, &rotation);
        // R = Z S - Q Theta.
        let mut residuals = product(&z, &rotation);
        let mut theta = Matrix::zeros(values.len(), values.len());
        values.iter().enumerate().for_each(|(i, l)| theta[(i, i)] = *l);
        tall_subtract(&mut residuals, &vectors, &theta);
        // What rounding may hide in a residual.
        let unseen = 4.0 * f64::EPSILON * values[0].abs();
        let residuals: Vec<f64> = residuals.column_norms().into_iter().map(|r| r + unseen).collect();
        let whole = vectors.rows() == d;
        Ok(Certified {
            residual: residuals.iter().take(d).fold(0.0f64, |m, r| m.max(*r)) / values[0].abs().max(f64::MIN_POSITIVE),
            sine_bound: if whole { 0.0 } else { sine_bound(&values, &residuals, d) },
            values,
            vectors,
            residuals,
        })
    })
}

/// (H + H') / 2: the same matrix without the rounding that makes it unsymmetric.
pub(super) fn symmetric_part(h: &Matrix) -> Matrix {
    let mut out = h.clone();
    for i in 0..h.rows() {
        for j in 0..h.columns() {
            out[(i, j)] = 0.5 * (h[(i, j)] + h[(j, i)]);
        }
    }
    out
}
