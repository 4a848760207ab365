//! A model out of a subspace, however it was found: signs, variances, cutoffs.

use std::collections::BTreeMap;

use super::signs::fix_sign;
use crate::config::Config;
use crate::config::options::Solver;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Distances, DistancesSum};
use crate::kernel::operand::Precision;
use crate::model::{Certificate, Model, diagnosis};
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::robust_scale;

/// Scores that robust variances come from, at most; beyond, every k-th sample is taken.
pub(crate) const SCALE_SCORES: usize = 1 << 20;

/// A subspace that a method outside this crate has found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where samples are seen from.
    pub center: Vec<f64>,
    /// Orthonormal columns, D x d, in order.
    pub vectors: Matrix,
    /// Eigenvalues on the sphere, where the method has such.
    pub shares: Option<Vec<f64>>,
    /// Variances along the columns; `None` takes the squared robust scale of the scores.
    pub variances: Option<Vec<f64>>,
    /// Steps of each iteration.
    pub iterations: Vec<usize>,
    /// How sure the answer is.
    pub certificate: Certificate,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The model of a subspace, with variances and cutoffs from one more pass; `passes_before` is what the runner had made
/// when the fit began.
pub fn assemble(
    config: &Config,
    found: Found,
    passes_before: usize,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Model> {
    let (shape, d) = (source.shape(), found.vectors.columns());
    let every = (shape.samples * d).div_ceil(SCALE_SCORES);
    let distances = Distances::new(&found.center, &found.vectors, Precision::Working, shape.element);
    let measured = runner.run(&distances.with_scores(None, every), source)?;
    Ok(Model {
        config: config.clone(),
        solver: Solver::Auto,
        shape: shape.clone(),
        components: signed_rows(&found.vectors),
        variances: found.variances.unwrap_or_else(|| robust_variances(&measured, d)),
        cutoffs: diagnosis::cutoffs(&measured, d, shape.features),
        center: found.center,
        scale: None,
        shares: found.shares,
        total_variance: None,
        chosen: None,
        kept: vec![true; shape.samples],
        cone: None,
        objective: Vec::new(),
        iterations: found.iterations,
        cells: None,
        extras: BTreeMap::new(),
        certificate: found.certificate,
        passes: runner.passes() - passes_before,
        warnings: found.warnings,
    })
}

/// The squared robust scale of the scores along each of `d` components.
pub(crate) fn robust_variances(measured: &DistancesSum, d: usize) -> Vec<f64> {
    let column = |j: usize| measured.scores[j.min(measured.scores.len())..].iter().step_by(d).copied();
    (0..d).map(|j| robust_scale(&column(j).collect::<Vec<_>>()).powi(2)).collect()
}

/// Columns as rows, each with its sign by the one rule.
pub(crate) fn signed_rows(vectors: &Matrix) -> Matrix {
    let mut components = vectors.transposed();
    (0..vectors.columns()).for_each(|i| fix_sign(components.row_mut(i)));
    components
}
