//! Cellwise outliers: bad cells are replaced by their reconstruction, and the fit is repeated.
//!
//! | symbol | here |
//! |---|---|
//! | F = mu + T Q', the fit of the cleaned data | from `scores` T and a [`Subspace`] |
//! | E = X - F | residuals |
//! | s_j = 1.4826 median of abs(E_ij) over i | `limits` = 3 s |
//! | W_ij = F_ij where abs(E_ij) > 3 s_j, else X_ij | the cleaned source |
//!
//! There are two starts. Wrapped cells (Raymaekers and Rousseeuw 2021) tolerate bad cells in every sample, but not a cluster
//! of outlying samples; the outlyingness screen tolerates such a cluster, but not bad cells in most samples. Both starts are
//! refined by the same rounds, in which samples with mostly bad cells get weight 0. The result is the one with the smaller
//! residuals at the lower quartile of each feature. Neither X nor W is ever copied: the scores decide which cells are cleaned.

use super::assemble::Embedding;
use super::feature_scales;
use super::stages::embed;
use crate::center::mean::Finite;
use crate::config::Config;
use crate::config::options::{Cells, Solver, Weighting};
use crate::config::screen::Screen;
use crate::data::source::Source;
use crate::data::view::{MappedSource, SubsetSource};
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{Projection, ProjectionUnits, WeightedRows};
use crate::kernel::operand::Precision;
use crate::memory::{self, CollectReserved};
use crate::model::apply::CELL_LIMIT;
use crate::model::{CleanedCells, Subspace};
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::{NORMAL_MAD, median};

/// Rounds of cleaning and fitting.
pub(crate) const ROUNDS: usize = 5;
/// A sample of which a larger fraction was cleaned gets weight 0.
const MAX_CLEANED_FRACTION: f64 = 0.5;
/// The quantile of a feature's residuals by which starts are compared: at least this fraction of cells is regular.
const SELECTION_QUANTILE: f64 = 0.25;
/// Wrapping leaves cells up to the first limit unchanged and moves cells beyond the second to the median, in scales.
const WRAP: (f64, f64) = (1.5, 4.0);
/// Makes the wrapping function continuous and of no bias: b = q1 tanh(q2 (c - b)).
const WRAP_CURVE: (f64, f64) = (1.540793, 0.8622731);

/// Fits with bad cells cleaned.
pub(super) fn clean<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let source = data.source;
    let inner = Config { cells: Cells::Keep, ..config.clone() };
    let everyone = Config { screen: Screen::None, ..inner.clone() };
    let rounds = Rounds { config: &everyone, d, solver, data, source, runner };
    let (middle, deviation) = feature_scales::median_and_deviation(source, runner)?;
    let wrapped = MappedSource::new(source, |_, row: &mut [f64]| {
        row.iter_mut().zip(&middle).zip(&deviation).for_each(|((x, m), s)| *x = wrap(*x, *m, *s));
    });
    let mut answer = rounds.refine(embed(&everyone, d, solver, &data.view(&wrapped), runner)?, &wrapped)?;
    if inner.screen != Screen::None {
        let from_rows = rounds.refine(embed(&inner, d, solver, data, runner)?, source)?;
        if from_rows.criterion < answer.criterion {
            answer = from_rows;
        }
    }
    Ok(answer.embedding)
}

/// The common inputs of all rounds.
struct Rounds<'a, R> {
    config: &'a Config,
    d: usize,
    solver: Solver,
    data: &'a Finite<'a>,
    source: &'a dyn Source,
    runner: &'a R,
}

/// A refined start and its selection criterion, which is smaller for the better start.
struct Refined {
    embedding: Embedding,
    criterion: f64,
}

impl<R: Runner> Rounds<'_, R> {
    /// Alternates cleaning and fitting, from an embedding of some variant of the data.
    fn refine(&self, mut embedding: Embedding, variant: &dyn Source) -> Result<Refined> {
        let mut scores = self.scores(&embedding.subspace, variant)?;
        for _ in 0..ROUNDS {
            let subspace = &embedding.subspace;
            let residuals = self.residuals(subspace, &scores);
            let scale = |e: &mut [f64]| CELL_LIMIT * NORMAL_MAD * median(memory::copied(e));
            let limits = feature_scales::each(&residuals, None, self.runner, scale)?;
            let fractions = self.cleaned_fractions(&residuals, &limits)?;
            let active: Vec<usize> =
                (0..fractions.len()).filter(|&i| fractions[i] <= MAX_CLEANED_FRACTION).collect_reserved();
            if active.len() <= self.d {
                return Err(Error::invalid_data(format!(
                    "{} of {} samples have at most half of their cells cleaned, too few for {} components; use the method \
                     robust or fewer components",
                    active.len(),
                    fractions.len(),
                    self.d
                )));
            }
            let cleaned = MappedSource::new(self.source, |sample, row: &mut [f64]| {
                let expected = expected(subspace, scores.row(sample));
                for ((x, expected), limit) in row.iter_mut().zip(expected).zip(&limits) {
                    if (*x - expected).abs() > *limit {
                        *x = expected;
                    }
                }
            });
            let fraction = active.iter().map(|&i| fractions[i]).sum::<f64>() / active.len().max(1) as f64;
            let mut next = self.fit(&cleaned, &active)?;
            let next_scores = self.scores(&next.subspace, &cleaned)?;
            next.diagnostics.cells = Some(CleanedCells { limits, fraction });
            drop(residuals);
            (embedding, scores) = (next, next_scores);
        }
        let quantiles = feature_scales::each(&self.residuals(&embedding.subspace, &scores), None, self.runner, |e| {
            let place = ((e.len() - 1) as f64 * SELECTION_QUANTILE) as usize;
            *e.select_nth_unstable_by(place, f64::total_cmp).1
        })?;
        let criterion = quantiles.iter().map(|q| q.max(f64::MIN_POSITIVE).ln()).sum();
        Ok(Refined { embedding, criterion })
    }

    /// A fit to the active samples; the others are not in the support.
    fn fit(&self, cleaned: &dyn Source, active: &[usize]) -> Result<Embedding> {
        let n = cleaned.shape().samples;
        let members = SubsetSource::new(cleaned, memory::copied(active));
        let mut embedding = embed(self.config, self.d, self.solver, &self.data.view(&members), self.runner)?;
        let mut support = memory::filled(n, false);
        active.iter().zip(&embedding.report.support).for_each(|(&sample, own)| support[sample] = *own);
        embedding.report.support = support;
        Ok(embedding)
    }

    fn scores(&self, subspace: &Subspace, data: &dyn Source) -> Result<Matrix> {
        let plain = WeightedRows::new(&subspace.center, Weighting::Uniform, None);
        let vectors = subspace.components.transposed();
        let projection =
            Projection::new(plain, &vectors, ProjectionUnits::Original, Precision::Double, data.shape().element);
        Ok(Matrix::from_vec(data.shape().samples, self.d, self.runner.run(&projection, data)?.values))
    }

    /// Absolute residuals of all cells from their reconstruction.
    fn residuals<'b>(&'b self, subspace: &'b Subspace, scores: &'b Matrix) -> impl Source + 'b {
        MappedSource::new(self.source, |sample, row: &mut [f64]| {
            let expected = expected(subspace, scores.row(sample));
            row.iter_mut().zip(expected).for_each(|(x, expected)| *x = (*x - expected).abs());
        })
    }

    /// The fraction of each sample's cells beyond the limits.
    fn cleaned_fractions(&self, residuals: &dyn Source, limits: &[f64]) -> Result<Vec<f64>> {
        let features = limits.len();
        let beyond = MappedSource::new(residuals, |_, row: &mut [f64]| {
            row.iter_mut().zip(limits).for_each(|(e, limit)| *e = f64::from(u8::from(*e > *limit)));
        });
        let origin = vec![0.0; features];
        let ones = Matrix::from_vec(features, 1, vec![1.0 / features as f64; features]);
        let plain = WeightedRows::new(&origin, Weighting::Uniform, None);
        let sum = Projection::new(plain, &ones, ProjectionUnits::Original, Precision::Working, beyond.shape().element);
        Ok(self.runner.run(&sum, &beyond)?.values)
    }
}

/// mu + s Q'.
fn expected(subspace: &Subspace, scores: &[f64]) -> Vec<f64> {
    let mut out = memory::copied(&subspace.center);
    for (k, s) in scores.iter().enumerate() {
        out.iter_mut().zip(subspace.components.row(k)).for_each(|(x, q)| *x += s * q);
    }
    out
}

/// A cell, unchanged within the first limit and moved towards the median beyond it.
fn wrap(x: f64, middle: f64, scale: f64) -> f64 {
    if scale == 0.0 {
        return middle;
    }
    let z = (x - middle) / scale;
    let (b, c) = WRAP;
    let wrapped = match z.abs() {
        a if a <= b => z,
        a if a < c => z.signum() * WRAP_CURVE.0 * (WRAP_CURVE.1 * (c - a)).tanh(),
        _ => 0.0,
    };
    middle + scale * wrapped
}
