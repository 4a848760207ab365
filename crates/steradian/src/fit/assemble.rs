//! A model out of a subspace, however it was found: signs, variances, cutoffs.

use std::collections::BTreeMap;

use super::signs::fix_sign;
use super::total_variance::Explained;
use crate::config::Config;
use crate::config::options::{Solver, Weighting};
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::Distances;
use crate::kernel::operand::Precision;
use crate::model::{Certificate, Model, diagnosis};
use crate::numeric::linalg::Matrix;

/// Scores that robust variances come from, at most; beyond, every k-th sample is taken.
pub(crate) const SCALE_SCORES: usize = 1 << 20;

/// A subspace that a method outside this crate has found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where samples are seen from.
    pub center: Vec<f64>,
    /// Orthonormal columns, D x d, in order.
    pub vectors: Matrix,
    /// Eigenvalues of `sum w^2 (x - mu)(x - mu)'` over the sum of the weights, where the columns are its eigenvectors.
    pub eigenvalues: Option<Vec<f64>>,
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
    let explained = Explained::new(config, found.eigenvalues.as_deref(), &measured, None, d);
    Ok(Model {
        config: config.clone(),
        solver: Solver::Auto,
        shape: shape.clone(),
        components: signed_rows(&found.vectors),
        variances: explained.variances,
        total_variance: Some(explained.total),
        cutoffs: diagnosis::cutoffs(&measured, d, shape.features),
        center: found.center,
        scale: None,
        shares: found.eigenvalues.filter(|_| config.weighting == Weighting::InverseNorm),
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

/// Columns as rows, each with its sign by the one rule.
pub(crate) fn signed_rows(vectors: &Matrix) -> Matrix {
    let mut components = vectors.transposed();
    (0..vectors.columns()).for_each(|i| fix_sign(components.row_mut(i)));
    components
}
