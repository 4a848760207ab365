//! Cutoffs of the distances and scales of the cells, for the rows of a fit and for new rows.
//!
//! | symbol | definition |
//! |---|---|
//! | SD | sqrt of the sum of (s_l - med_l)^2 / v_l; med and v: median and squared robust scale of the kept rows' scores; of features with a resolution, med is moved toward the center of the fit by half a step |
//! | c_SD | sqrt of the 97.5 % quantile of chi-square with d degrees of freedom, or the rule of c_OD if that is larger |
//! | c_OD | (m + 1.96 s)^(3/2); m and s of OD^(2/3): over the kept rows, then four rounds over all within 2.5 s |
//! | new rows | the larger of these and of the bulk rule on distances of rows left out in turn: five folds, three Student steps without each |
//! | sigma_j | scale of the residuals of feature j over the row scales, of the fit's rows and of rows left out |
//!
//! With an adjustment for skewed features, the upper fence of the adjusted boxplot replaces the rule of c_OD.
//! Features with a resolution bound the cutoffs from below: a row off by one step of one feature is not flagged, nor one as distant
//! as rows of independent cells that are one of two values a step apart (the bulk rule describes no distances of few values).

use rayon::prelude::*;

use super::found_model::Candidate;
use super::outlyingness::select_rows;
use super::sample::Sample;
use super::student_steps::{KeptRows, Steps, student_steps};
use super::tables::{RowStates, block_feature_scales, compare, compare_scores, feature_scales};
use crate::cellwise::features::TINY;
use crate::cellwise::row_step::unsorted_median;
use crate::cellwise::student::kappa;
use crate::cellwise::{FeatureStats, RowModel, RowStep};
use crate::error::Result;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner};
use crate::numeric::skewness::upper_fence;
use crate::numeric::statistics::{chi_square_quantile, robust_scale};

/// Folds of rows that are left out in turn.
const FOLDS: usize = 5;
/// Student steps without the rows of a fold.
const FOLD_STEPS: usize = 3;
/// Quantile of the cutoffs, in standard deviations and as a probability.
const QUANTILE: (f64, f64) = (1.96, 0.975);
/// Limit of the bulk, in scales, the variance of normal values within it, and rounds.
const BULK: (f64, f64, usize) = (2.5, 0.9105, 5);
/// Residual beyond which a cell is flagged, in standard deviations: the 99 % interval.
pub(crate) const CELL_CUTOFF: f64 = 2.576;

/// The scales by which rows and cells are classified.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Calibration {
    /// Median of the scores of the kept rows, and their robust variances.
    pub score_center: Vec<f64>,
    pub score_variances: Vec<f64>,
    /// Cutoffs of score and orthogonal distance for the fit's own rows and for new rows; NaN where undefined.
    pub cutoffs: [f64; 2],
    pub cutoffs_new: [f64; 2],
    /// Standard deviations of the residuals of each feature, for the fit's own rows and for new rows.
    pub cell_scales: Vec<f64>,
    pub cell_scales_new: Vec<f64>,
}

/// Cutoff of distances whose power 2/3 is normal in the bulk, which begins with the kept rows.
pub(crate) fn bulk_cutoff(distances: &[f64], kept: &[bool]) -> f64 {
    let powers: Vec<f64> = distances.iter().map(|t| t.powf(2.0 / 3.0)).collect();
    let mut inner = kept.to_vec();
    let (mut mean, mut scale) = (0.0, 0.0);
    for _ in 0..BULK.2 {
        let count = inner.iter().filter(|inner| **inner).count().max(1) as f64;
        let members = || powers.iter().zip(&inner).filter(|(_, inner)| **inner).map(|(u, _)| *u);
        mean = members().sum::<f64>() / count;
        scale = (members().map(|u| (u - mean).powi(2)).sum::<f64>() / count / BULK.1).sqrt();
        inner = powers.iter().map(|u| (u - mean).abs() <= BULK.0 * scale + TINY).collect();
    }
    (mean + QUANTILE.0 * scale).powf(1.5)
}

/// Score distances of rows from a center of the scores.
pub(crate) fn score_distance(scores: &[f64], center: &[f64], variances: &[f64]) -> f64 {
    let cells = scores.iter().zip(center).zip(variances);
    cells.map(|((s, m), v)| (s - m).powi(2) / v).sum::<f64>().sqrt()
}

/// The smallest orthogonal distance that features with a resolution allow to flag: one step of one feature, off the subspace.
pub(crate) fn resolution_floor(components: &Matrix, resolution: &[f64]) -> f64 {
    let step = |(j, r): (usize, &f64)| {
        let inside: f64 = (0..components.rows()).map(|k| components[(k, j)].powi(2)).sum();
        r * (1.0 - inside).max(0.0).sqrt()
    };
    resolution.iter().enumerate().map(step).fold(0.0, f64::max)
}

/// The orthogonal distance that 97.5 % of rows do not exceed if each cell of a feature with a resolution is, independently, one of
/// two values a step apart, with the variance of the kept rows where that is smaller: from mean and variance of the squared distance.
fn tied_floor(table: &Matrix, components: &Matrix, stats: &FeatureStats, kept: &[bool]) -> f64 {
    if !stats.has_resolution() {
        return 0.0;
    }
    let variances = tied_variances(table, stats, kept);
    let d = components.rows();
    let (mut mean, mut spread) = (0.0, 0.0);
    for (j, (v, r)) in variances.iter().zip(&stats.resolution).enumerate().filter(|(_, (v, _))| **v > 0.0) {
        let outside = 1.0 - (0..d).map(|k| components[(k, j)].powi(2)).sum::<f64>();
        mean += outside * v;
        // 2 P_jj'^2 v_j v_j' over all pairs below counts the cell itself; its own square has variance v (r^2 - 4 v).
        spread += 2.0 * v * v * (2.0 * outside - 1.0 - outside.powi(2)) + outside.powi(2) * v * (r * r - 4.0 * v);
    }
    for a in 0..d {
        for b in 0..d {
            let pairs = components.row(a).iter().zip(components.row(b)).zip(&variances);
            spread += 2.0 * pairs.map(|((p, q), v)| p * q * v).sum::<f64>().powi(2);
        }
    }
    (mean + QUANTILE.0 * spread.max(0.0).sqrt()).max(0.0).sqrt()
}

/// The variance over the kept rows of each feature with a resolution, at most that of two equally frequent values a step apart.
fn tied_variances(table: &Matrix, stats: &FeatureStats, kept: &[bool]) -> Vec<f64> {
    let features = stats.resolution.len();
    let (mut counts, mut sums, mut squares) = (vec![0.0; features], vec![0.0; features], vec![0.0; features]);
    for i in (0..table.rows()).filter(|&i| kept[i]) {
        for (j, x) in table.row(i).iter().enumerate().filter(|(j, x)| stats.resolution[*j] > 0.0 && !x.is_nan()) {
            let z = x - stats.location[j];
            counts[j] += 1.0;
            sums[j] += z;
            squares[j] += z * z;
        }
    }
    (0..features)
        .map(|j| {
            let own: f64 = squares[j] / f64::max(counts[j], 1.0) - (sums[j] / f64::max(counts[j], 1.0)).powi(2);
            own.clamp(0.0, stats.resolution[j].powi(2) / 4.0)
        })
        .collect()
}

/// Calibrates a model on the rows of a table; `candidate.cells` and `candidate.kept` are those of the model.
pub(crate) fn calibrate(
    table: &Matrix,
    stats: &FeatureStats,
    candidate: &Candidate,
    skew: bool,
) -> Result<Calibration> {
    let model = &candidate.model;
    let (features, d) = (table.columns(), model.n_components());
    let own = compare(table, &RowStep::new(model));
    let (score_center, score_variances) =
        score_scales(&own.scores, &candidate.kept, (&model.components, &model.variances), stats);
    let floor = resolution_floor(&model.components, &stats.resolution).max(stats.row_rounding()).max(tied_floor(
        table,
        &model.components,
        stats,
        &candidate.kept,
    ));
    let distances = own.distances();
    let chi = chi_square_quantile(QUANTILE.1, d).sqrt();
    let cutoff = |distances: &[f64]| match skew {
        true => upper_fence(distances),
        false => bulk_cutoff(distances, &candidate.kept),
    };
    let orthogonal = |distances: &[f64]| cutoff(distances).max(floor);
    let score_distances: Vec<f64> =
        (0..table.rows()).map(|i| score_distance(own.scores.row(i), &score_center, &score_variances)).collect();
    let along = cutoff(&score_distances).max(chi);
    let cutoffs = [along, if features > d { orthogonal(&distances) } else { f64::NAN }];
    let left_out = left_out_rows(table, &own, candidate, (&score_center, &score_variances))?;
    let cutoffs_new = [
        cutoff(&left_out.score_distances).max(along),
        if features > d { orthogonal(&left_out.distances).max(cutoffs[1]) } else { f64::NAN },
    ];
    // Cells are always compared with scores over usable cells, also for a model that does not clean.
    let cleaning = RowModel { cleans: true, ..model.clone() };
    let cleaned = compare(table, &RowStep::new(&cleaning).with_row_scales());
    let scaled = |row: usize, residual: f64| residual.abs() / cleaned.rows[row].row_scale;
    let mut cell_scales =
        feature_scales(table, &model.center, &model.components, &cleaned.scores, &candidate.kept, scaled);
    let mut cell_scales_new = left_out_scales(&left_out.residuals, &cleaned, &candidate.kept);
    for scales in [&mut cell_scales, &mut cell_scales_new] {
        floor_scales(scales, stats);
    }
    Ok(Calibration { score_center, score_variances, cutoffs, cutoffs_new, cell_scales, cell_scales_new })
}

/// The calibration of all features of a sample from that of some: cutoffs of own rows by their distances, of new rows by the ratio
/// of the searched features; scales of cells that were left out by the median ratio.
pub(crate) fn extend(
    searched: Calibration,
    sample: &Sample,
    model: &RowModel,
    row_cutoff: f64,
    chosen: &[usize],
    skew: bool,
) -> Result<Calibration> {
    let block = sample.block()?;
    let cleaning = RowModel { cleans: true, ..model.clone() };
    let (own, scores) = compare_scores(&block, &RowStep::new(model).with_row_scales());
    let kept: Vec<bool> = own.iter().map(|row| !row.unusable && row.distance <= row_cutoff).collect();
    let (cleaned, cleaned_scores) = match model.cleans {
        true => (own.clone(), scores.clone()),
        false => compare_scores(&block, &RowStep::new(&cleaning).with_row_scales()),
    };
    let distances: Vec<f64> = own.iter().map(|row| row.distance).collect();
    let floor = resolution_floor(&model.components, &sample.stats.resolution).max(sample.stats.row_rounding());
    let orthogonal = if skew { upper_fence(&distances) } else { bulk_cutoff(&distances, &kept) }.max(floor);
    let ratio = searched.cutoffs_new[1] / searched.cutoffs[1];
    let candidate = (&model.components, &model.variances[..]);
    let (score_center, score_variances) = score_scales(&scores, &kept, candidate, &sample.stats);
    let value = |row: usize, residual: f64| residual.abs() / cleaned[row].row_scale;
    let mut cell_scales =
        block_feature_scales(&block, (&model.center, &model.components), &cleaned_scores, &kept, value);
    floor_scales(&mut cell_scales, &sample.stats);
    let mut ratios: Vec<f64> =
        searched.cell_scales_new.iter().zip(&searched.cell_scales).map(|(new, own)| new / own).collect();
    let middle = unsorted_median(&mut ratios).max(1.0);
    let mut cell_scales_new: Vec<f64> = cell_scales.iter().map(|s| s * middle).collect();
    for (place, &j) in chosen.iter().enumerate() {
        cell_scales_new[j] = cell_scales[j] * (searched.cell_scales_new[place] / searched.cell_scales[place]).max(1.0);
    }
    Ok(Calibration {
        score_center,
        score_variances,
        cutoffs: [searched.cutoffs[0], orthogonal],
        cutoffs_new: [searched.cutoffs_new[0], orthogonal * if ratio.is_finite() { ratio.max(1.0) } else { 1.0 }],
        cell_scales,
        cell_scales_new,
    })
}

/// Raises scales of cells so that neither one step of the resolution nor rounding is a bad cell.
fn floor_scales(scales: &mut [f64], stats: &FeatureStats) {
    for (j, scale) in scales.iter_mut().enumerate() {
        *scale = scale.max(stats.resolution[j] / CELL_CUTOFF).max(stats.rounding(j)).max(TINY);
    }
}

/// Median and robust variance of the kept rows' scores.
fn score_scales(
    scores: &Matrix,
    kept: &[bool],
    (components, variances): (&Matrix, &[f64]),
    stats: &FeatureStats,
) -> (Vec<f64>, Vec<f64>) {
    let tied = stats.has_resolution();
    (0..scores.columns())
        .map(|k| {
            let members = (0..scores.rows()).filter(|&i| kept[i]);
            let mut column: Vec<f64> = members.map(|i| scores[(i, k)]).collect();
            let resolved: f64 =
                components.row(k).iter().zip(&stats.resolution).map(|(q, r)| (q * r).powi(2)).sum::<f64>() / 9.0;
            let floor = if tied { resolved.max(variances[k]) } else { TINY };
            let variance = robust_scale(&column).powi(2).max(floor).max(TINY);
            // The median of tied scores is one of few values, so it is known up to half a step around the center of the fit.
            let half = 1.5 * resolved.sqrt();
            let median = unsorted_median(&mut column);
            (median - median.clamp(-half, half), variance)
        })
        .unzip()
}

/// Distances and residuals of each row under a model without it.
struct LeftOut {
    distances: Vec<f64>,
    score_distances: Vec<f64>,
    residuals: Matrix,
}

fn left_out_rows(
    table: &Matrix,
    own: &RowStates,
    candidate: &Candidate,
    (score_center, score_variances): (&[f64], &[f64]),
) -> Result<LeftOut> {
    let (n, features) = (table.rows(), table.columns());
    let model = &candidate.model;
    let d = model.n_components();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| own.rows[a].distance.total_cmp(&own.rows[b].distance));
    let mut fold = vec![0; n];
    order.iter().enumerate().for_each(|(rank, &i)| fold[i] = rank % FOLDS);
    let mut left_out = LeftOut {
        distances: own.distances(),
        score_distances: (0..n).map(|i| score_distance(own.scores.row(i), score_center, score_variances)).collect(),
        residuals: Matrix::zeros(n, features),
    };
    // A fold that leaves too few rows keeps the residuals under the model itself.
    for i in 0..n {
        write_residuals(table.row(i), model, own.scores.row(i), left_out.residuals.row_mut(i));
    }
    let parts: Vec<Option<(Vec<usize>, RowModel, RowStates)>> = (0..FOLDS)
        .into_par_iter()
        .map(|part| {
            let kept: Vec<bool> = (0..n).map(|i| candidate.kept[i] && fold[i] != part).collect();
            let count = kept.iter().filter(|kept| **kept).count();
            if count < d + 2 {
                return Ok(None);
            }
            let rows = KeptRows { table, kept: &kept, cells: Some(&candidate.cells) };
            let steps = Steps { most: FOLD_STEPS, tolerance: 0.0, kappa: kappa(count, features, d) };
            let basis = model.components.transposed();
            let fit = student_steps(&rows, &model.center, &model.components, Some(&basis), steps)?;
            let without = RowModel {
                center: fit.center,
                components: aligned(&fit.components, &model.components)?,
                variances: fit.variances,
                noise: fit.noise,
                ..model.clone()
            };
            let members: Vec<usize> = (0..n).filter(|&i| fold[i] == part).collect();
            let states = compare(&select_rows(table, &members), &RowStep::new(&without));
            Ok(Some((members, without, states)))
        })
        .collect::<Result<_>>()?;
    for (members, without, states) in parts.into_iter().flatten() {
        let moved: Vec<f64> = without.center.iter().zip(&model.center).map(|(a, b)| a - b).collect();
        let shift: Vec<f64> =
            (0..d).map(|k| model.components.row(k).iter().zip(&moved).map(|(q, x)| q * x).sum()).collect();
        for (place, &i) in members.iter().enumerate() {
            left_out.distances[i] = states.rows[place].distance;
            let scores: Vec<f64> = states.scores.row(place).iter().zip(&shift).map(|(s, by)| s + by).collect();
            left_out.score_distances[i] = score_distance(&scores, score_center, score_variances);
            write_residuals(table.row(i), &without, states.scores.row(place), left_out.residuals.row_mut(i));
        }
    }
    Ok(left_out)
}

/// The residuals of a row for given scores.
fn write_residuals(row: &[f64], model: &RowModel, scores: &[f64], out: &mut [f64]) {
    out.copy_from_slice(row);
    out.iter_mut().zip(&model.center).for_each(|(x, c)| *x -= c);
    for (k, score) in scores.iter().enumerate() {
        out.iter_mut().zip(model.components.row(k)).for_each(|(x, q)| *x -= score * q);
    }
}

/// Components rotated within their span to be closest to others (orthogonal Procrustes).
fn aligned(components: &Matrix, to: &Matrix) -> Result<Matrix> {
    let d = components.rows();
    let inner = product(components, &to.transposed());
    // The orthogonal factor of C = U S V' is C (C'C)^(-1/2).
    let (values, vectors) = symmetric_eigen(&tall_inner(&inner, &inner))?;
    let mut root = Matrix::zeros(d, d);
    for (k, value) in values.iter().enumerate() {
        let factor = 1.0 / value.max(1e-12).sqrt();
        for a in 0..d {
            for b in 0..d {
                root[(a, b)] += factor * vectors[(a, k)] * vectors[(b, k)];
            }
        }
    }
    let rotation = product(&inner, &root);
    Ok(product(&rotation.transposed(), components))
}

fn left_out_scales(residuals: &Matrix, cleaned: &RowStates, kept: &[bool]) -> Vec<f64> {
    let features = residuals.columns();
    let (zeros, none) = (vec![0.0; features], Matrix::zeros(0, features));
    let scores = Matrix::zeros(residuals.rows(), 0);
    feature_scales(residuals, &zeros, &none, &scores, kept, |row, x| x.abs() / cleaned.rows[row].row_scale)
}
