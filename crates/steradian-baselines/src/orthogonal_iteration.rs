//! EM PCA and EM-AE: the top eigenvectors of A = sum w^2 (x - mu)(x - mu)' by orthogonal iteration.
//!
//! | Roweis 1998, noise to zero | here |
//! |---|---|
//! | C, D x d | `vectors`, orthonormal |
//! | E: Y = (C'C)^-1 C'X | the projections inside a pass |
//! | M: C = X Y'(Y Y')^-1 | A C, orthonormalized |
//!
//! With U = w (X - mu), the M step is C = U Y'(Y Y')^-1 where Y = M C'U for an invertible M; so its columns span those
//! of U U'C = A C, and a step of EM is a step of orthogonal iteration, which takes one pass. With w = 1 this is EM PCA,
//! with w = 1 / norm(x - mu), on unit directions, it is EM-AE.
//!
//! The sine by which the subspace changes shrinks by the ratio lambda_{d+1} / lambda_d per step, so the iteration takes
//! about ln(tolerance) / ln(lambda_{d+1} / lambda_d) steps. Cost: one pass per step, 4 n D d flops.
//!
//! Afterwards the columns are rotated to eigenvectors within their span. The certificate is that of Davis and Kahan:
//! with R = A Q - Q Theta, the sine of the largest angle is at most norm(R) / (theta_d - l), where l, the largest
//! eigenvalue outside of Q, is at most trace A - trace Theta. The bound is 1 if trace A - trace Theta is at least
//! theta_d.

use steradian::center::{self, Finite};
use steradian::config::Weighting;
use steradian::engine::Runner;
use steradian::fit::FittedSubspace;
use steradian::fit::assemble;
use steradian::folds::{Coefficients, Distances, OperatorProduct, Precision, WeightedRows};
use steradian::linalg::{product, symmetric_eigen, tall_inner, tall_subtract};
use steradian::model::Certificate;
use steradian::orthonormal::orthonormalize;
use steradian::random::{Stream, normal_matrix};
use steradian::{Config, Error, Local, Matrix, Model, Result};

use crate::count;

/// Largest number of steps.
const MAX_STEPS: usize = 1000;
/// Tolerance below which passes use f64: smaller changes are lost in f32.
const SINGLE_TOLERANCE: f64 = 1e-5;

/// Fits by orthogonal iteration.
pub(crate) fn fit(config: &Config, data: &Finite<'_>, runner: &Local) -> Result<Model> {
    let source = data.source;
    let (shape, d, passes_before) = (source.shape(), count(config)?, runner.passes());
    let (point, warning) = center::by_passes(config.center(), data, config.seed(), runner)?;
    let directions = WeightedRows::new(&point, config.weighting(), None);
    let precision = if config.tolerance() < SINGLE_TOLERANCE { Precision::Double } else { Precision::Working };
    let apply = |w: &Matrix, precision| {
        let product = runner
            .compute(|| OperatorProduct::new(directions.clone(), Coefficients::Project(w), precision, shape.element));
        let (mut z, mass) = runner.run(&product, source)?;
        z.data_mut().iter_mut().for_each(|x| *x /= mass.max(1.0));
        Ok(z)
    };
    let mut vectors = normal_matrix(shape.features, d, data.start_seed(config.seed()), Stream::Baselines);
    runner.compute(|| orthonormalize(&mut vectors, 0.0).map(drop))?;
    let (mut steps, mut change) = (0, f64::INFINITY);
    while steps < MAX_STEPS && change > config.tolerance() {
        let mut next: Matrix = apply(&vectors, precision)?;
        runner.compute(|| orthonormalize(&mut next, 0.0).map(drop))?;
        require_rank(next.columns(), d, shape.samples)?;
        change = runner.compute(|| sine(&vectors, &next))?;
        vectors = next;
        steps += 1;
    }
    let z = apply(&vectors, Precision::Double)?;
    let (values, rotation) = symmetric_eigen(&tall_inner(&vectors, &z))?;
    let (mut residual, vectors) = runner.compute(|| (product(&z, &rotation), product(&vectors, &rotation)));
    let mut theta = Matrix::zeros(d, d);
    values.iter().enumerate().for_each(|(i, l)| theta[(i, i)] = *l);
    tall_subtract(&mut residual, &vectors, &theta);
    let limit = shape.samples.max(shape.features) as f64 * f64::EPSILON * values[0];
    // If all rows equal the center up to rounding, the variance is rounding only.
    let noise = match config.weighting() {
        Weighting::Uniform => (8.0 * f64::EPSILON * point.iter().fold(0.0f64, |m, x| m.max(x.abs()))).powi(2),
        Weighting::InverseNorm => 0.0,
    };
    require_rank(values.iter().filter(|&&l| l > limit && l > noise).count(), d, shape.samples)?;
    let trace = match config.weighting() {
        Weighting::InverseNorm => 1.0,
        Weighting::Uniform => {
            let lengths = runner.run(&Distances::new(&point, &vectors, precision, shape.element), source)?.lengths;
            lengths.iter().map(|l| l * l).sum::<f64>() / shape.samples as f64
        }
    };
    let columns = residual_norms(&residual);
    let outside = (trace - values.iter().sum::<f64>()).max(0.0);
    let gap = values[d - 1] - outside;
    let all = columns.iter().map(|r| r * r).sum::<f64>().sqrt();
    let converged = change <= config.tolerance();
    let mut warnings: Vec<String> = warning.into_iter().collect();
    if !converged {
        warnings.push(format!(
            "not converged: the subspace changed by a sine of {change:.1e} > tolerance {:.1e} in iteration {steps}. \
             Eigenvalues {d} and {} are close; change the number of components or use method {}",
            config.tolerance(),
            d + 1,
            if config.weighting() == Weighting::Uniform { "pca" } else { "ae" }
        ));
    }
    let found = FittedSubspace {
        certificate: Certificate {
            residual: columns.iter().fold(0.0f64, |m, r| m.max(*r)) / values[0],
            sine_bound: if gap > 0.0 { (all / gap).min(1.0) } else { 1.0 },
            converged,
        },
        eigenvalues: Some(values),
        center: point.clone(),
        vectors,
        iterations: vec![steps],
        warnings,
    };
    assemble(config, found, passes_before, source, runner)
}

/// The sine of the largest angle between the spans of two sets of orthonormal columns.
fn sine(before: &Matrix, after: &Matrix) -> Result<f64> {
    let mut rest = after.clone();
    tall_subtract(&mut rest, before, &tall_inner(before, after));
    let (values, _) = symmetric_eigen(&tall_inner(&rest, &rest))?;
    Ok(values[0].max(0.0).sqrt())
}

fn residual_norms(residual: &Matrix) -> Vec<f64> {
    let squares = tall_inner(residual, residual);
    (0..residual.columns()).map(|j| squares[(j, j)].max(0.0).sqrt()).collect()
}

/// Rejects more components than the rank of the centered data.
pub(crate) fn require_rank(rank: usize, d: usize, samples: usize) -> Result<()> {
    match rank {
        0 => Err(Error::invalid_data(format!(
            "all {samples} rows are equal to the center, so there is no direction to find; use rows that differ"
        ))),
        rank if rank < d => Err(Error::RankTooSmall { n_components: d, rank, of: "the centered data" }),
        _ => Ok(()),
    }
}
