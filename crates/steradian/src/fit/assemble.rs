//! The model of a subspace that a method of another crate has found: signs, variances, cutoffs.

use std::collections::BTreeMap;

use super::signs::fix_sign;
use super::total_variance::Explained;
use crate::config::Config;
use crate::config::options::{Solver, Weighting};
use crate::data::source::{Shape, Source};
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Distances, SampleDistances};
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
    let measured = measure(config, &found.center, &found.vectors, None, source, runner)?;
    let mut model = build(
        config,
        source.shape(),
        measured,
        Subspace {
            center: found.center,
            vectors: found.vectors,
            eigenvalues: found.eigenvalues,
            kept: None,
            support: vec![true; source.shape().samples],
            certificate: found.certificate,
            warnings: found.warnings,
        },
    );
    model.iterations = found.iterations;
    model.passes = runner.passes() - passes_before;
    Ok(model)
}

/// A subspace and how it was found, before the model around it is built.
pub(super) struct Subspace {
    pub center: Vec<f64>,
    /// Orthonormal columns, D x d, in order.
    pub vectors: Matrix,
    /// Eigenvalues of the weighted operator, d or more, where the columns are its eigenvectors.
    pub eigenvalues: Option<Vec<f64>>,
    /// The samples that a screen kept.
    pub kept: Option<Vec<bool>>,
    /// The samples that the components come from.
    pub support: Vec<bool>,
    pub certificate: Certificate,
    pub warnings: Vec<String>,
}

/// Distances of all samples from a subspace, and scores of those that variances come from. One pass.
pub(super) fn measure(
    config: &Config,
    center: &[f64],
    vectors: &Matrix,
    kept: Option<&[bool]>,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<SampleDistances> {
    let shape = source.shape();
    let drawn = drawn_scores(members(kept, shape.samples), vectors.columns(), config.seed);
    let distances = Distances::new(center, vectors, Precision::Double, shape.element);
    runner.run(&distances.with_scores(kept, drawn), source)
}

/// The one place that makes a model of a fit: signs, variances and their total, cutoffs.
pub(super) fn build(config: &Config, shape: &Shape, measured: SampleDistances, subspace: Subspace) -> Model {
    let Subspace { center, vectors, eigenvalues, kept, support, certificate, mut warnings } = subspace;
    let d = vectors.columns();
    let explained = Explained::new(config, eigenvalues.as_deref(), &measured, kept.as_deref(), d);
    if !explained.classical {
        warnings.extend(drawn_warning(&measured, d, members(kept.as_deref(), shape.samples)));
    }
    Model {
        config: config.clone(),
        solver: Solver::Auto,
        shape: shape.clone(),
        center,
        scale: None,
        components: signed_rows(&vectors),
        angular_eigenvalues: eigenvalues.filter(|_| config.weighting == Weighting::InverseNorm).map(|mut values| {
            values.truncate(d);
            values
        }),
        explained_variance: explained.variances,
        total_variance: Some(explained.total),
        n_components_reason: None,
        support,
        cone: None,
        objective: Vec::new(),
        iterations: Vec::new(),
        cells: None,
        extras: BTreeMap::new(),
        cutoffs: diagnosis::cutoffs(&measured, d, shape.features),
        certificate,
        passes: 0,
        warnings,
    }
}

fn members(kept: Option<&[bool]>, samples: usize) -> usize {
    kept.map_or(samples, |kept| kept.iter().filter(|&&k| k).count())
}

/// The samples whose scores give robust variances, out of those a fit is of: all, or a random share where there would be
/// more than [`SCALE_SCORES`].
fn drawn_scores(members: usize, d: usize, seed: u64) -> RandomShare {
    RandomShare::about(SCALE_SCORES / d.max(1), members, seed, Stream::Scores)
}

/// A warning where robust variances come from a share of the samples.
fn drawn_warning(measured: &SampleDistances, d: usize, members: usize) -> Option<String> {
    let used = measured.scores.len() / d.max(1);
    (members > SCALE_SCORES / d.max(1) && used < members).then(|| {
        format!(
            "the variances come from a random subsample of {used} of {members} samples, since more than {SCALE_SCORES} scores \
             are not kept; fit with another seed to see how much they vary"
        )
    })
}

/// Columns as rows, each with its sign by the one rule.
fn signed_rows(vectors: &Matrix) -> Matrix {
    let mut components = vectors.transposed();
    (0..vectors.columns()).for_each(|i| fix_sign(components.row_mut(i)));
    components
}
