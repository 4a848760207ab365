//! Candidates for the subspace of a sample, and the choice between them.

use std::borrow::Cow;

use rayon::prelude::*;

use super::concentration::{ConcentratedStart, concentrate};
use super::criterion::is_better;
use super::found_model::Candidate;
use super::majority;
use super::mcd::kept_by_mcd;
use super::outlyingness::{least_outlying, mean_of, select_rows};
use super::polish::{Polish, PolishStart, polish};
use super::sample::{filled, wrapped_table};
use super::student_steps::{KeptRows, Steps, student_steps};
use super::tables::compare;
use crate::cellwise::student::kappa;
use crate::cellwise::{FeatureStats, RowStep};
use crate::config::options::Cells;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner};

/// Rows on which candidates are compared; tables of up to half as many more rows are searched as a whole.
const COMPARED_ROWS: usize = 500;
/// Components of a candidate beyond those that are wanted, at most.
const EXTRA: usize = 4;
/// Rounds of the polish of a candidate, and of the last one.
const ROUNDS: (usize, usize) = (3, 12);
/// Student steps after the screen, and the turn at which they end.
const SCREEN_STEPS: (usize, f64) = (5, 1e-3);
/// Advantage per feature that cleaning of cells must have.
const CLEANING: f64 = 0.1;

/// The aim and the limits of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchOptions {
    pub d: usize,
    pub cells: Cells,
    /// True if limits are adjusted for skewed features.
    pub skew: bool,
    /// The number of directions through pairs; `None` chooses it by the size of the table.
    pub pairs: Option<usize>,
    pub seed: u64,
    /// True if no pass over more rows or features follows, which goes on where the search ends.
    pub is_final: bool,
}

/// The best candidate for a table with missing cells. Candidates are compared on some rows of a long table, at evenly spaced
/// places of its order; the best one is polished on all rows.
pub(crate) fn search(table: &Matrix, stats: &FeatureStats, options: SearchOptions) -> Result<Candidate> {
    let cleans = options.cells != Cells::Never;
    let n = table.rows();
    let compared = if 2 * n > 3 * COMPARED_ROWS {
        let places: Vec<usize> = (0..COMPARED_ROWS).map(|place| place * n / COMPARED_ROWS).collect();
        Cow::Owned(select_rows(table, &places))
    } else {
        Cow::Borrowed(table)
    };
    let mut starts = vec![filled(&compared, stats)];
    if cleans {
        starts.push(wrapped_table(&compared, stats));
    }
    let candidates: Vec<Vec<Candidate>> =
        starts.par_iter().map(|start| candidates(&compared, start, stats, cleans, options)).collect::<Result<_>>()?;
    drop(starts);
    let candidates: Vec<Candidate> = candidates.into_iter().flatten().collect();
    let mut best = 0;
    for k in 1..candidates.len() {
        if is_better(&candidates[k], &candidates[best], &compared, None)? {
            best = k;
        }
    }
    let last = |k: usize, cleans: bool| {
        let start = start_on(table, &candidates[k]);
        polish(
            table,
            stats,
            start,
            Polish { rounds: ROUNDS.1, cleans, skew: options.skew, last: true, is_final: options.is_final },
        )
    };
    // From the winner and from the first candidate without cleaning, which wins where it costs nothing.
    let mut plans = vec![(best, cleans)];
    if options.cells == Cells::Auto {
        plans.push((best, false));
        if best != 0 {
            plans.push((0, false));
        }
    }
    let mut polished: Vec<Candidate> =
        plans.into_par_iter().map(|(k, cleans)| last(k, cleans)).collect::<Result<_>>()?;
    let plain = polished.split_off(1);
    let best = polished.remove(0);
    for candidate in plain {
        if is_better(&candidate, &best, table, Some(CLEANING * table.columns() as f64))? {
            return Ok(candidate);
        }
    }
    Ok(best)
}

/// The start of a polish from a candidate, whose rows may be some of those of the table.
fn start_on(table: &Matrix, candidate: &Candidate) -> PolishStart {
    let model = &candidate.model;
    let (scores, kept) = if candidate.kept.len() == table.rows() {
        (candidate.scores.clone(), candidate.kept.clone())
    } else {
        let states = compare(table, &RowStep::new(model));
        let kept = states.rows.iter().map(|row| !row.unusable && row.distance <= candidate.row_cutoff).collect();
        (states.scores, kept)
    };
    PolishStart {
        center: model.center.clone(),
        components: model.components.clone(),
        variances: Some((model.variances.clone(), model.noise)),
        basis: Some(candidate.basis.clone()),
        kept,
        scores,
    }
}

/// The candidates from one table of start values: with d and with d + q components.
fn candidates(
    table: &Matrix,
    start: &Matrix,
    stats: &FeatureStats,
    cleans: bool,
    options: SearchOptions,
) -> Result<Vec<Candidate>> {
    let (n, features, d) = (table.rows(), table.columns(), options.d);
    let spare = (majority(n, d) / 5).saturating_sub(d);
    let extra = EXTRA.min(features.saturating_sub(d) / 4).min(spare);
    let half = least_outlying(start, d + extra, stats, options.pairs, options.seed)?;
    let sizes = if extra > 0 { vec![d, d + extra] } else { vec![d] };
    let rounds = Polish { rounds: ROUNDS.0, cleans, skew: options.skew, last: false, is_final: false };
    sizes
        .into_par_iter()
        .map(|size| {
            let near = concentrate(start, size, &half)?;
            let from = student_start(start, near)?;
            let candidate = polish(table, stats, from, rounds)?;
            if size == d { Ok(candidate) } else { polish(table, stats, within(candidate, options)?, rounds) }
        })
        .collect()
}

/// Student steps on the rows near a start.
fn student_start(table: &Matrix, near: ConcentratedStart) -> Result<PolishStart> {
    let (n, features, size) = (table.rows(), table.columns(), near.components.rows());
    let rows: Vec<usize> = (0..n).filter(|&i| near.kept[i]).collect();
    let center = mean_of(table, &rows);
    let steps = Steps { most: SCREEN_STEPS.0, tolerance: SCREEN_STEPS.1, kappa: kappa(rows.len(), features, size) };
    let kept = KeptRows { table, kept: &near.kept, cells: None };
    let fit = student_steps(&kept, &center, &near.components, None, steps)?;
    let mut centered = table.clone();
    centered.data_mut().par_chunks_exact_mut(features).for_each(|row| {
        row.iter_mut().zip(&fit.center).for_each(|(x, c)| *x -= c);
    });
    let scores = product(&centered, &fit.components.transposed());
    Ok(PolishStart {
        center: fit.center,
        components: fit.components,
        variances: None,
        basis: None,
        kept: near.kept,
        scores,
    })
}

/// The leading d of d + q components after the minimum covariance determinant of their scores: a cluster or a second plane that a
/// weak component represents leaves.
fn within(candidate: Candidate, options: SearchOptions) -> Result<PolishStart> {
    let (model, scores) = (&candidate.model, &candidate.scores);
    let (n, size, d) = (scores.rows(), scores.columns(), options.d);
    let by_mcd = kept_by_mcd(scores, majority(n, size), options.seed);
    let both: Vec<bool> = by_mcd.iter().zip(&candidate.kept).map(|(a, b)| *a && *b).collect();
    let enough = both.iter().filter(|kept| **kept).count() > d + 2;
    let kept = if enough { both } else { candidate.kept.clone() };
    let rows: Vec<usize> = (0..n).filter(|&i| kept[i]).collect();
    let mean = mean_of(scores, &rows);
    let centered = super::outlyingness::centered_rows(scores, &rows);
    let rotation = symmetric_eigen(&tall_inner(&centered, &centered))?.1.first_columns(d);
    let mut center = model.center.clone();
    for (k, m) in mean.iter().enumerate() {
        center.iter_mut().zip(model.components.row(k)).for_each(|(c, q)| *c += m * q);
    }
    let mut shifted = scores.clone();
    shifted.data_mut().chunks_exact_mut(size).for_each(|row| row.iter_mut().zip(&mean).for_each(|(s, m)| *s -= m));
    Ok(PolishStart {
        center,
        components: product(&rotation.transposed(), &model.components),
        variances: None,
        basis: None,
        kept,
        scores: product(&shifted, &rotation),
    })
}
