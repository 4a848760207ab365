//! Cellwise outliers: bad cells are replaced by their reconstruction, and the fit is repeated.
//!
//! | symbol | here |
//! |---|---|
//! | F = mu + T Q', the fit of the cleaned data | from `scores` T and a [`Model`] |
//! | E = X - F | residuals |
//! | s_j = 1.4826 median of abs(E_ij) over i | `limits` = 3 s |
//! | W_ij = F_ij where abs(E_ij) > 3 s_j, else X_ij | the cleaned source |
//!
//! There are two starts. Wrapped cells (Raymaekers and Rousseeuw 2021) withstand bad cells in every sample, but not a
//! cluster of bad samples; the outlyingness screen withstands those, but not cells everywhere. Both are polished by the same
//! rounds, in which samples with mostly bad cells fall silent, and the one with the smaller residuals in the better
//! quarter of each feature is the answer. Neither X nor W is ever copied: the scores decide which cells are cleaned.

use super::feature_scales;
use super::stages::embed;
use crate::center::mean::Finite;
use crate::config::Config;
use crate::config::options::{Cells, Solver, Weighting};
use crate::config::screen::Screen;
use crate::data::source::Source;
use crate::data::view::{MappedSource, SubsetSource};
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Projection, Units, WeightedRows};
use crate::kernel::operand::Precision;
use crate::model::{CELL_LIMIT, CleanedCells, Model};
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::{NORMAL_MAD, median};

/// Rounds of cleaning and fitting.
pub(crate) const ROUNDS: usize = 5;
/// A sample of which more than this share was cleaned says nothing.
const MAX_CLEANED_FRACTION: f64 = 0.5;
/// The share of a feature's residuals that judges between starts: good cells of good samples are at least so many.
const SELECTION_QUANTILE: f64 = 0.25;
/// Wrapping leaves cells up to this many scales as they are, and takes cells beyond the second limit to the middle.
const WRAP: (f64, f64) = (1.5, 4.0);
/// Makes the wrapping function continuous and of no bias: b = q1 tanh(q2 (c - b)).
const WRAP_CURVE: (f64, f64) = (1.540793, 0.8622731);

/// Fits with bad cells cleaned.
pub(crate) fn clean<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Model> {
    let (before, source) = (runner.passes(), data.source);
    let inner = Config { cells: Cells::Keep, ..config.clone() };
    let everyone = Config { screen: Screen::None, ..inner.clone() };
    let rounds = Rounds { config: &everyone, d, solver, source, runner };
    let (middle, deviation) = feature_scales::median_and_deviation(source, runner)?;
    let wrapped = MappedSource::new(source, |_, row: &mut [f64]| {
        row.iter_mut().zip(&middle).zip(&deviation).for_each(|((x, m), s)| *x = wrap(*x, *m, *s));
    });
    let mut answer = rounds.polish(embed(&everyone, d, solver, &Finite::view(&wrapped), runner)?, &wrapped)?;
    if inner.screen != Screen::None {
        let from_rows = rounds.polish(embed(&inner, d, solver, data, runner)?, source)?;
        if from_rows.judgement < answer.judgement {
            answer = from_rows;
        }
    }
    let mut model = answer.model;
    model.config = config.clone();
    model.shape = source.shape().clone();
    model.passes = runner.passes() - before;
    Ok(model)
}

/// What all rounds share.
struct Rounds<'a, R> {
    config: &'a Config,
    d: usize,
    solver: Solver,
    source: &'a dyn Source,
    runner: &'a R,
}

struct Polished {
    model: Model,
    judgement: f64,
}

impl<R: Runner> Rounds<'_, R> {
    /// Cleans and fits in turns, from a model of some variant of the data.
    fn polish(&self, mut model: Model, variant: &dyn Source) -> Result<Polished> {
        let mut scores = self.scores(&model, variant)?;
        for _ in 0..ROUNDS {
            let residuals = self.residuals(&model, &scores);
            let scale = |e: &mut [f64]| CELL_LIMIT * NORMAL_MAD * median(e.to_vec());
            let limits = feature_scales::each(&residuals, None, self.runner, scale)?;
            let shares = self.cleaned_shares(&residuals, &limits)?;
            let speaking: Vec<usize> = (0..shares.len()).filter(|&i| shares[i] <= MAX_CLEANED_FRACTION).collect();
            let cleaned = MappedSource::new(self.source, |sample, row: &mut [f64]| {
                let expected = expected(&model, scores.row(sample));
                for ((x, expected), limit) in row.iter_mut().zip(expected).zip(&limits) {
                    if (*x - expected).abs() > *limit {
                        *x = expected;
                    }
                }
            });
            let share = speaking.iter().map(|&i| shares[i]).sum::<f64>() / speaking.len().max(1) as f64;
            let mut next = self.fit(&cleaned, &speaking)?;
            let next_scores = self.scores(&next, &cleaned)?;
            next.cells = Some(CleanedCells { limits, share });
            drop(residuals);
            (model, scores) = (next, next_scores);
        }
        let judged = feature_scales::each(&self.residuals(&model, &scores), None, self.runner, |e| {
            let place = ((e.len() - 1) as f64 * SELECTION_QUANTILE) as usize;
            *e.select_nth_unstable_by(place, f64::total_cmp).1
        })?;
        let judgement = judged.iter().map(|q| q.max(f64::MIN_POSITIVE).ln()).sum();
        Ok(Polished { model, judgement })
    }

    /// A fit to the samples that speak; the others are not kept.
    fn fit(&self, cleaned: &dyn Source, speaking: &[usize]) -> Result<Model> {
        let n = cleaned.shape().samples;
        let members = SubsetSource::new(cleaned, speaking.to_vec());
        let mut model = embed(self.config, self.d, self.solver, &Finite::view(&members), self.runner)?;
        let mut support = vec![false; n];
        speaking.iter().zip(&model.support).for_each(|(&sample, own)| support[sample] = *own);
        model.support = support;
        Ok(model)
    }

    fn scores(&self, model: &Model, data: &dyn Source) -> Result<Matrix> {
        let plain = WeightedRows::new(&model.center, Weighting::Uniform, None);
        let vectors = model.components.transposed();
        let projection = Projection::new(plain, &vectors, Units::Data, Precision::Double, data.shape().element);
        Ok(Matrix::from_vec(data.shape().samples, self.d, self.runner.run(&projection, data)?.values))
    }

    /// How far each cell is from what the scores make of it.
    fn residuals<'b>(&'b self, model: &'b Model, scores: &'b Matrix) -> impl Source + 'b {
        MappedSource::new(self.source, |sample, row: &mut [f64]| {
            let expected = expected(model, scores.row(sample));
            row.iter_mut().zip(expected).for_each(|(x, expected)| *x = (*x - expected).abs());
        })
    }

    /// The share of each sample's cells beyond the limits.
    fn cleaned_shares(&self, residuals: &dyn Source, limits: &[f64]) -> Result<Vec<f64>> {
        let features = limits.len();
        let beyond = MappedSource::new(residuals, |_, row: &mut [f64]| {
            row.iter_mut().zip(limits).for_each(|(e, limit)| *e = f64::from(u8::from(*e > *limit)));
        });
        let origin = vec![0.0; features];
        let ones = Matrix::from_vec(features, 1, vec![1.0 / features as f64; features]);
        let plain = WeightedRows::new(&origin, Weighting::Uniform, None);
        let sum = Projection::new(plain, &ones, Units::Data, Precision::Working, beyond.shape().element);
        Ok(self.runner.run(&sum, &beyond)?.values)
    }
}

/// mu + s Q'.
fn expected(model: &Model, scores: &[f64]) -> Vec<f64> {
    let mut out = model.center.clone();
    for (k, s) in scores.iter().enumerate() {
        out.iter_mut().zip(model.components.row(k)).for_each(|(x, q)| *x += s * q);
    }
    out
}

/// A cell as it is, or nearer to the middle the further it lies beyond the first limit.
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
