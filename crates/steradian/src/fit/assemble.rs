//! The one place that builds a model: signs, variances and their total, cutoffs, and the parts of the result.

use std::collections::BTreeMap;

use super::signs::fix_sign;
use super::total_variance::Explained;
use crate::config::Config;
use crate::config::options::Weighting;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{Distances, SampleDistances};
use crate::kernel::operand::Precision;
use crate::memory;
use crate::model::check::repeated_name;
use crate::model::{Certificate, Diagnostics, FitReport, Model, Subspace, diagnosis};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::{RandomSubset, Stream};

/// The approximate upper limit of scores for robust variances; above it a random subsample of the samples is used.
pub(crate) const SCALE_SCORES: usize = 1 << 20;

/// A subspace found by a method of another crate.
#[derive(Debug, Clone)]
pub struct FittedSubspace {
    /// The center that is subtracted from the samples.
    pub center: Vec<f64>,
    /// Orthonormal columns, D x d, in order.
    pub vectors: Matrix,
    /// Eigenvalues of `sum w^2 (x - mu)(x - mu)'` over the sum of the weights, where the columns are its eigenvectors.
    pub eigenvalues: Option<Vec<f64>>,
    /// The number of steps of each iteration.
    pub iterations: Vec<usize>,
    /// The a-posteriori error bound.
    pub certificate: Certificate,
    /// Warnings of the method.
    pub warnings: Vec<String>,
}

/// The model of a subspace that a method of another crate has found, with variances and cutoffs from one more pass;
/// `passes_before` is the number of passes of the runner when the fit started.
///
/// # Errors
/// Those of the pass.
pub fn assemble(
    config: &Config,
    found: FittedSubspace,
    passes_before: usize,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Model> {
    let FittedSubspace { center, vectors, eigenvalues, iterations, certificate, warnings } = found;
    require_finite(&center, &vectors)?;
    let measured = measure(config, &center, &vectors, None, source, runner)?;
    let support = memory::filled(source.shape().samples, true);
    let report = FitReport { support, iterations, certificate, warnings, ..FitReport::default() };
    let solved = Solved { center, vectors, eigenvalues, screened: None };
    let embedding = Embedding::new(config, solved, measured, report);
    Ok(embedding.into_model(config, source, runner.passes() - passes_before))
}

/// Rejects a result that is not finite.
pub(super) fn require_finite(center: &[f64], vectors: &Matrix) -> Result<()> {
    if center.iter().chain(vectors.data()).all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(Error::invalid_data(
        "the result is not finite, because cells are too far apart in magnitude or the data changed during the fit; remove \
         outlying cells, or fit data that do not change",
    ))
}

/// The solution of the last decomposition.
pub(super) struct Solved {
    pub center: Vec<f64>,
    /// Orthonormal columns, D x d, in order.
    pub vectors: Matrix,
    /// Eigenvalues of the weighted operator, d or more, where the columns are its eigenvectors.
    pub eigenvalues: Option<Vec<f64>>,
    /// The samples that a screen selected; `None` without a screen.
    pub screened: Option<Vec<bool>>,
}

/// The three parts of a result, before they are a model.
#[derive(Debug, Clone)]
pub(super) struct Embedding {
    pub subspace: Subspace,
    pub diagnostics: Diagnostics,
    pub report: FitReport,
}

impl Embedding {
    /// The parts of a solution: signs, variances and their total, cutoffs.
    pub(super) fn new(config: &Config, solved: Solved, measured: SampleDistances, mut report: FitReport) -> Self {
        let Solved { center, vectors, eigenvalues, screened } = solved;
        let (d, samples) = (vectors.columns(), measured.lengths.len());
        let explained = Explained::new(config, eigenvalues.as_deref(), &measured, screened.as_deref(), d);
        if !explained.classical {
            report.warnings.extend(subsample_warning(&measured, d, members(screened.as_deref(), samples)));
        }
        let angular_eigenvalues =
            eigenvalues.filter(|_| config.weighting == Weighting::InverseNorm).map(|mut values| {
                values.truncate(d);
                values
            });
        let diagnostics = Diagnostics {
            cutoffs: diagnosis::cutoffs(&measured, d, center.len()),
            explained_variance: explained.explained_variance,
            total_variance: Some(explained.total),
            cells: None,
            cellwise: None,
        };
        let components = signed_rows(&vectors);
        Self { subspace: Subspace { center, scale: None, components, angular_eigenvalues }, diagnostics, report }
    }

    /// The total variance; NaN if it is unknown.
    pub(super) fn total_variance(&self) -> f64 {
        self.diagnostics.total_variance.unwrap_or(f64::NAN)
    }

    /// The model of a configuration for these data.
    pub(super) fn into_model(self, config: &Config, source: &dyn Source, passes: usize) -> Model {
        Model {
            config: config.clone(),
            shape: source.shape().clone(),
            feature_names: unique_names(source),
            subspace: self.subspace,
            diagnostics: self.diagnostics,
            report: FitReport { passes, ..self.report },
            extras: BTreeMap::new(),
        }
    }
}

/// Distances of all samples from a subspace, and scores of those that variances come from. One pass.
pub(super) fn measure(
    config: &Config,
    center: &[f64],
    vectors: &Matrix,
    screened: Option<&[bool]>,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<SampleDistances> {
    let shape = source.shape();
    let subsample = score_subsample(members(screened, shape.samples), vectors.columns(), config.seed);
    let distances = Distances::new(center, vectors, Precision::Double, shape.element);
    runner.run(&distances.with_scores(screened, subsample), source)
}

fn members(screened: Option<&[bool]>, samples: usize) -> usize {
    screened.map_or(samples, |screened| screened.iter().filter(|&&active| active).count())
}

/// The samples whose scores give robust variances: all, or a random subsample where there would be more than
/// [`SCALE_SCORES`] scores.
fn score_subsample(members: usize, d: usize, seed: u64) -> RandomSubset {
    RandomSubset::about(SCALE_SCORES / d.max(1), members, seed, Stream::Scores)
}

/// A warning where robust variances come from a subsample.
fn subsample_warning(measured: &SampleDistances, d: usize, members: usize) -> Option<String> {
    let used = measured.scores.len() / d.max(1);
    (members > SCALE_SCORES / d.max(1) && used < members).then(|| {
        format!(
            "the variances come from a random subsample of {used} of {members} samples, since more than {SCALE_SCORES} scores \
             are not stored; fit with another seed to see how much they vary"
        )
    })
}

/// Columns as rows, each with its sign by the one rule.
pub(super) fn signed_rows(vectors: &Matrix) -> Matrix {
    let mut components = vectors.transposed();
    (0..vectors.columns()).for_each(|i| fix_sign(components.row_mut(i)));
    components
}

/// The names of the features; none where two are equal, since features could not be matched by them.
fn unique_names(source: &dyn Source) -> Option<Vec<String>> {
    let names: Option<Vec<String>> = (0..source.shape().features).map(|feature| source.feature_name(feature)).collect();
    names.filter(|names| repeated_name(names).is_none())
}
