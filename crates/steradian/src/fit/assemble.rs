//! The model of a subspace that a method of another crate has found: signs, variances, cutoffs.

use std::collections::BTreeMap;

use super::signs::fix_sign;
use super::total_variance::Explained;
use crate::config::Config;
use crate::config::options::{Solver, Weighting};
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Distances, DistancesSum};
use crate::kernel::operand::Precision;
use crate::model::{Certificate, Model, diagnosis};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::{RandomShare, Stream};

/// Scores that robust variances come from, about, at most; beyond, a random share of the samples is taken.
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
    let distances = Distances::new(&found.center, &found.vectors, Precision::Double, shape.element);
    let drawn = drawn_scores(shape.samples, d, config.seed);
    let measured = runner.run(&distances.with_scores(None, drawn), source)?;
    let mut warnings = found.warnings;
    let explained = Explained::new(config, found.eigenvalues.as_deref(), &measured, None, d);
    if !explained.classical {
        warnings.extend(drawn_warning(&measured, d, shape.samples));
    }
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
        warnings,
    })
}

/// The samples whose scores give robust variances, out of those a fit is of: all, or a random share where there would be
/// more than [`SCALE_SCORES`].
pub(super) fn drawn_scores(members: usize, d: usize, seed: u64) -> RandomShare {
    RandomShare::about(SCALE_SCORES / d.max(1), members, seed, Stream::Scores)
}

/// A warning where robust variances come from a share of the samples.
pub(super) fn drawn_warning(measured: &DistancesSum, d: usize, members: usize) -> Option<String> {
    let used = measured.scores.len() / d.max(1);
    (members > SCALE_SCORES / d.max(1) && used < members).then(|| {
        format!(
            "the variances come from a random subsample of {used} of {members} samples, since more than {SCALE_SCORES} scores \
             are not kept; fit with another seed to see how much they vary"
        )
    })
}

/// Columns as rows, each with its sign by the one rule.
pub(crate) fn signed_rows(vectors: &Matrix) -> Matrix {
    let mut components = vectors.transposed();
    (0..vectors.columns()).for_each(|i| fix_sign(components.row_mut(i)));
    components
}
