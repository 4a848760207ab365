//! The selection criterion: the trimmed likelihood of a candidate.
//!
//! J(c) = log det cov(scores) + (D - d) log sigma^2 - D log(F_{D+2}(q) / a) over the h = max(h(n, d), c n) most likely rows, with
//! a = min(1, h / kept) and q the quantile a of chi-square with D degrees of freedom. The last term returns what trimming takes from
//! the variance of a candidate's own rows. Residuals are bounded at three limits, and squared distances of kept rows are divided by 1 - leverage.

use super::outlyingness::{mean_of, smallest};
use super::{Candidate, majority};
use crate::cellwise::features::TINY;
use crate::cellwise::student::kappa;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, symmetric_eigen};
use crate::numeric::statistics::{chi_square_below, chi_square_quantile};

/// Steps to the most likely rows.
const STEPS: usize = 5;
/// Limit of residuals, in limits of their feature.
const RESIDUAL_LIMIT: f64 = 3.0;
/// Largest leverage.
const LEVERAGE: f64 = 0.5;
/// Share of the rows on which candidates are compared, at least and at most.
const SHARE: (f64, f64) = (0.5, 0.9);
/// Advantage per feature that a candidate with fewer kept rows needs in wide data.
const FEWER_ROWS: f64 = 0.01;

/// J of a candidate at a share of the rows.
pub(crate) fn criterion(candidate: &Candidate, table: &Matrix, share: f64) -> Result<f64> {
    let (n, features) = (table.rows(), table.columns());
    let (model, scores) = (&candidate.model, &candidate.scores);
    let d = model.n_components();
    let kept: Vec<usize> = (0..n).filter(|&i| candidate.kept[i]).collect();
    let h = majority(n, d).max((share * n as f64 + 0.5) as usize).min(n);
    let mut squares = bounded_squares(candidate, table);
    let mean = mean_of(scores, &kept);
    let inverse = inverse_scatter(scores, &kept, &mean)?;
    for &i in &kept {
        let z: Vec<f64> = scores.row(i).iter().zip(&mean).map(|(s, m)| s - m).collect();
        let leverage = 1.0 / kept.len() as f64 + quadratic(&inverse, &z);
        squares[i] /= 1.0 - leverage.min(LEVERAGE);
    }
    let mut rows = smallest(&squares, h);
    let outside = (features - d) as f64;
    let mut step = 0;
    loop {
        let center = mean_of(scores, &rows);
        let (values, vectors) = covariance_eigen(scores, &rows, &center)?;
        let noise = (rows.iter().map(|&i| squares[i]).sum::<f64>() / rows.len() as f64 / outside.max(1.0)).max(TINY);
        if step == STEPS {
            let a = (h as f64 / kept.len() as f64).min(1.0);
            let trimmed = if a < 1.0 {
                (chi_square_below(chi_square_quantile(a, features), features + 2) / a).ln()
            } else {
                0.0
            };
            let determinant: f64 = values.iter().map(|v| v.ln()).sum();
            return Ok(determinant + outside * noise.ln() - features as f64 * trimmed);
        }
        let likelihood: Vec<f64> = (0..n)
            .map(|i| {
                let along: f64 = (0..d)
                    .map(|k| {
                        let z = |l: usize| (scores[(i, l)] - center[l]) * vectors[(l, k)];
                        (0..d).map(z).sum::<f64>().powi(2) / values[k]
                    })
                    .sum();
                along + squares[i] / noise
            })
            .collect();
        rows = smallest(&likelihood, h);
        step += 1;
    }
}

/// True if `a` is at least as good as `b` on the share of rows that both keep. `room` is by how much J of `a` may be larger;
/// without it, a candidate of wide data that keeps fewer rows must be better by a margin.
pub(crate) fn is_better(a: &Candidate, b: &Candidate, table: &Matrix, room: Option<f64>) -> Result<bool> {
    let (n, features, d) = (table.rows(), table.columns(), a.model.n_components());
    let share = |candidate: &Candidate| candidate.kept.iter().filter(|kept| **kept).count() as f64 / n as f64;
    let (own, other) = (share(a), share(b));
    let common = own.min(other).clamp(SHARE.0, SHARE.1);
    let margin = FEWER_ROWS * (features - d) as f64 * (1.0 - kappa(n, features, d));
    let room = room.unwrap_or(match own.total_cmp(&other) {
        std::cmp::Ordering::Less => -margin,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => margin,
    });
    Ok(criterion(a, table, common)? <= criterion(b, table, common)? + room)
}

/// Squared residuals of each row over its cells that are present, bounded, and scaled to all features.
fn bounded_squares(candidate: &Candidate, table: &Matrix) -> Vec<f64> {
    let model = &candidate.model;
    let features = table.columns();
    let mut residual = vec![0.0; features];
    (0..table.rows())
        .map(|i| {
            let cells = residual.iter_mut().zip(table.row(i)).zip(&model.center);
            cells.for_each(|((r, x), mu)| *r = x - mu);
            for (k, score) in candidate.scores.row(i).iter().enumerate() {
                residual.iter_mut().zip(model.components.row(k)).for_each(|(r, q)| *r -= score * q);
            }
            let (mut sum, mut present) = (0.0, 0usize);
            for (r, limit) in residual.iter().zip(&model.limits).filter(|(r, _)| !r.is_nan()) {
                sum += r.abs().min(RESIDUAL_LIMIT * limit).powi(2);
                present += 1;
            }
            sum * features as f64 / present.max(1) as f64
        })
        .collect()
}

/// The inverse of sum (s - m)(s - m)' over some rows; directions without variation have none.
fn inverse_scatter(scores: &Matrix, rows: &[usize], mean: &[f64]) -> Result<Matrix> {
    let d = scores.columns();
    let (values, vectors) = symmetric_eigen(&scatter(scores, rows, mean))?;
    let mut inverse = Matrix::zeros(d, d);
    for (k, value) in values.iter().enumerate().filter(|(_, value)| **value > 1e-14 * values[0]) {
        for a in 0..d {
            for b in 0..d {
                inverse[(a, b)] += vectors[(a, k)] * vectors[(b, k)] / value;
            }
        }
    }
    Ok(inverse)
}

fn scatter(scores: &Matrix, rows: &[usize], mean: &[f64]) -> Matrix {
    let d = scores.columns();
    let mut scatter = Matrix::zeros(d, d);
    for &i in rows {
        let row = scores.row(i);
        for a in 0..d {
            for b in 0..d {
                scatter[(a, b)] += (row[a] - mean[a]) * (row[b] - mean[b]);
            }
        }
    }
    scatter
}

/// Eigenvalues, above 0, and eigenvectors of the covariance of some rows.
fn covariance_eigen(scores: &Matrix, rows: &[usize], mean: &[f64]) -> Result<(Vec<f64>, Matrix)> {
    let d = scores.columns();
    let mut covariance = scatter(scores, rows, mean);
    covariance.data_mut().iter_mut().for_each(|x| *x /= (rows.len() - 1).max(1) as f64);
    let trace: f64 = (0..d).map(|k| covariance[(k, k)]).sum();
    (0..d).for_each(|k| covariance[(k, k)] += 1e-12 * trace + TINY);
    let (values, vectors) = symmetric_eigen(&covariance)?;
    Ok((values.into_iter().map(|v| v.max(TINY)).collect(), vectors))
}

fn quadratic(matrix: &Matrix, z: &[f64]) -> f64 {
    (0..z.len()).map(|a| z[a] * matrix.row(a).iter().zip(z).map(|(m, x)| m * x).sum::<f64>()).sum()
}
