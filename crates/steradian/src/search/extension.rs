//! From a model of some features to all: regression of the cells of every feature on the scores of the kept rows.
//!
//! The first regression is on wrapped cells; in the next three, cells with a residual beyond three scales, and missing cells, have
//! the expected value of the regression before. Features are independent of each other, so they are processed in parallel.

use rayon::prelude::*;

use super::found_model::Candidate;
use super::sample::Sample;
use crate::cellwise::RowModel;
use crate::cellwise::features::{TINY, wrapped};
use crate::cellwise::row_model::scale_features;
use crate::cellwise::row_step::unsorted_median;
use crate::cellwise::vectors::{Fitted, residuals, row_products};
use crate::data::block::{Block, each_element};
use crate::data::element::Element;
use crate::error::Result;
use crate::memory;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner};
use crate::numeric::statistics::NORMAL_MAD;

/// Regressions of each feature.
const ROUNDS: usize = 4;
/// Limit of residuals, in scales.
const LIMIT: f64 = 3.0;

/// The regression of one feature on the scores.
struct FeatureFit {
    intercept: f64,
    slopes: Vec<f64>,
    scale: f64,
    square: f64,
}

/// The model of all features of a sample from a candidate for some of them.
pub(crate) fn extend(sample: &Sample, candidate: &Candidate) -> Result<RowModel> {
    let block = sample.block()?;
    let features = sample.stats.location.len();
    let rows: Vec<usize> = (0..sample.rows.len()).filter(|&i| candidate.kept[i]).collect();
    let d = candidate.scores.columns();
    let mut scores = Matrix::zeros(rows.len(), d);
    for (row, &i) in rows.iter().enumerate() {
        scores.row_mut(row).copy_from_slice(candidate.scores.row(i));
    }
    let mean = super::outlyingness::mean_of(&scores, &(0..rows.len()).collect::<Vec<_>>());
    scores.data_mut().chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(&mean).for_each(|(s, m)| *s -= m));
    let solve = pseudo_inverse(&tall_inner(&scores, &scores))?;
    let by_component = scores.transposed();
    let fits: Vec<FeatureFit> = (0..features)
        .into_par_iter()
        .with_min_len(16)
        .map_init(
            || Buffers::new(rows.len()),
            |buffers, feature| regress(&block, &rows, feature, sample, (&by_component, &solve), buffers),
        )
        .collect();
    let mut limits: Vec<f64> = fits.iter().map(|fit| fit.scale).collect();
    let middle = unsorted_median(&mut memory::copied(&limits));
    limits.iter_mut().for_each(|limit| *limit = limit.max(middle));
    let mut loadings = Matrix::zeros(features, d);
    for (j, fit) in fits.iter().enumerate() {
        loadings.row_mut(j).copy_from_slice(&fit.slopes);
    }
    // L = Q R; the scores in the coordinates of Q are S R', and their covariance gives the order of the components.
    let (values, vectors) = symmetric_eigen(&tall_inner(&loadings, &loadings))?;
    let roots: Vec<f64> = values.iter().map(|v| v.max(TINY).sqrt()).collect();
    let mut map = vectors.clone();
    (0..d).for_each(|a| map.row_mut(a).iter_mut().zip(&roots).for_each(|(x, root)| *x /= root));
    let mut basis = product(&loadings, &map);
    let mut back = vectors;
    (0..d).for_each(|a| back.row_mut(a).iter_mut().zip(&roots).for_each(|(x, root)| *x *= root));
    let rotated = product(&scores, &back);
    let (variances, rotation) = symmetric_eigen(&tall_inner(&rotated, &rotated))?;
    basis = product(&basis, &rotation);
    let count = rows.len().max(2) as f64;
    let square: f64 = fits.iter().map(|fit| fit.square).sum();
    Ok(RowModel {
        // Slopes are on scores around their mean, so the intercept is the center.
        center: fits.iter().map(|fit| fit.intercept).collect(),
        components: basis.transposed(),
        variances: variances.iter().map(|v| (v / (count - 1.0)).max(TINY)).collect(),
        noise: (square / count / (features - d).max(1) as f64).max(TINY),
        limits,
        location: sample.stats.location.clone(),
        scale: sample.stats.scale.clone(),
        cleans: candidate.model.cleans,
        scale_features: scale_features(&sample.stats.scale),
    })
}

struct Buffers {
    cells: Vec<f64>,
    repaired: Vec<f64>,
    /// The intercept, once per row.
    constant: Vec<f64>,
    fit: Vec<f64>,
    sorted: Vec<f64>,
}

impl Buffers {
    fn new(rows: usize) -> Self {
        let zeros = || vec![0.0; rows];
        Self { cells: zeros(), repaired: zeros(), constant: zeros(), fit: zeros(), sorted: zeros() }
    }
}

fn regress(
    block: &Block<'_>,
    rows: &[usize],
    feature: usize,
    sample: &Sample,
    (scores, solve): (&Matrix, &Matrix),
    Buffers { cells, repaired, constant, fit, sorted }: &mut Buffers,
) -> FeatureFit {
    let d = scores.rows();
    let stats = &sample.stats;
    each_element!(block, own => cells.iter_mut().zip(rows).for_each(|(x, &i)| *x = own.get(i, feature).widen()));
    let (location, scale) = (stats.location[feature], stats.scale[feature]);
    repaired.iter_mut().zip(&*cells).for_each(|(z, x)| *z = wrapped(*x, location, scale));
    let (mut right, mut opposite) = (vec![0.0; d], vec![0.0; d]);
    let (mut intercept, mut slopes, mut own_scale) = (0.0, vec![0.0; d], TINY);
    for round in 0..ROUNDS {
        intercept = repaired.iter().sum::<f64>() / rows.len().max(1) as f64;
        // Of each score the sum is 0, so that the intercept does not matter.
        row_products(repaired, scores, &mut right);
        slopes.iter_mut().enumerate().for_each(|(a, slope)| {
            *slope = solve.row(a).iter().zip(&right).map(|(m, x)| m * x).sum();
        });
        opposite.iter_mut().zip(&slopes).for_each(|(opposite, slope)| *opposite = -slope);
        constant.fill(intercept);
        residuals(Fitted { row: constant, scores: &opposite, components: scores }, &[], fit);
        sorted.clear();
        sorted.extend(cells.iter().zip(&*fit).map(|(x, fit)| (x - fit).abs()).filter(|residual| !residual.is_nan()));
        own_scale = (NORMAL_MAD * unsorted_median(sorted)).max(stats.resolution[feature] / 3.0).max(TINY);
        let last = round + 1 == ROUNDS;
        for ((z, x), fit) in repaired.iter_mut().zip(&*cells).zip(&*fit) {
            let near = (x - fit).abs() <= LIMIT * own_scale;
            *z = if near { *x } else { *fit };
        }
        if last {
            break;
        }
    }
    let square = repaired.iter().zip(&*fit).map(|(z, fit)| (z - fit).powi(2)).sum();
    FeatureFit { intercept, slopes, scale: own_scale, square }
}

fn pseudo_inverse(matrix: &Matrix) -> Result<Matrix> {
    let d = matrix.rows();
    let (values, vectors) = symmetric_eigen(matrix)?;
    let mut inverse = Matrix::zeros(d, d);
    for (k, value) in values.iter().enumerate().filter(|(_, value)| **value > 1e-14 * values[0]) {
        for a in 0..d {
            for b in 0..d {
                inverse[(a, b)] += vectors[(a, k)] * vectors[(b, k)] / value;
            }
        }
    }
    Ok(inverse)
}
