//! A model out of a subspace, however it was found: signs, variances, cutoffs.

use super::embed::SCALE_SCORES;
use crate::config::{Config, Solver};
use crate::diagnose;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::model::{Certificate, Model};
use crate::random::{RandomShare, Stream};
use crate::run::Runner;
use crate::signs::fix_sign;
use crate::source::Source;
use crate::sums::{Distances, DistancesSum, Precision};
use crate::univariate::robust_scale;

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
    let distances = Distances::new(&found.center, &found.vectors, Precision::Double, shape.element);
    let drawn = drawn_scores(shape.samples, d, config.seed);
    let measured = runner.run(&distances.with_scores(None, drawn), source)?;
    let mut warnings = found.warnings;
    if found.variances.is_none() {
        warnings.extend(drawn_warning(&measured, d, shape.samples));
    }
    Ok(Model {
        config: config.clone(),
        solver: Solver::Auto,
        shape: shape.clone(),
        components: signed_rows(&found.vectors),
        variances: found.variances.unwrap_or_else(|| robust_variances(&measured, d)),
        cutoffs: diagnose::cutoffs(&measured, d, shape.features),
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
        clip: None,
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

/// The squared robust scale of the scores along each of `d` components.
pub(super) fn robust_variances(measured: &DistancesSum, d: usize) -> Vec<f64> {
    let column = |j: usize| measured.scores[j.min(measured.scores.len())..].iter().step_by(d).copied();
    (0..d).map(|j| robust_scale(&column(j).collect::<Vec<_>>()).powi(2)).collect()
}

/// Columns as rows, each with its sign by the one rule.
pub(super) fn signed_rows(vectors: &Matrix) -> Matrix {
    let mut components = vectors.transposed();
    (0..vectors.columns()).for_each(|i| fix_sign(components.row_mut(i)));
    components
}
