//! The rows of a table that are least outlying along many directions (Stahel-Donoho), with univariate MCD location and scale.

use rayon::prelude::*;

use super::leading::leading;
use super::majority;
use crate::cellwise::FeatureStats;
use crate::cellwise::features::{TINY, sorted_median};
use crate::cellwise::vectors::square_norm;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, MatrixView, add_product};
use crate::numeric::random::{Stream, generator};
use crate::numeric::statistics::{LocationScale, chi_square_quantile, least_variance_window};
use rand_chacha::rand_core::Rng;

/// Cells of the products with the directions through pairs, about.
const WORK: usize = 20_000_000;
/// Directions through pairs, at least and at most.
const PAIRS: (usize, usize) = (250, 3000);
/// Components beyond those that are wanted whose directions are searched.
const EXTRA: usize = 10;
/// Limit of the values that enter the reweighted location and scale: the 97.5 % quantile of chi-square, as a distance.
const REWEIGHT: f64 = 2.2414;
/// Directions per task.
const TASK_DIRECTIONS: usize = 16;
/// Steps of the spatial median, and the relative step at which it ends; it only centers directions here.
const MEDIAN_STEPS: (usize, f64) = (40, 1e-5);

/// The number of directions through pairs of rows: at least as many as requested, more for small tables.
pub(crate) fn pair_count(n: usize, features: usize, least: Option<usize>) -> usize {
    let least = least.unwrap_or(PAIRS.0).max(1);
    (WORK / (n * features).max(1)).clamp(least, PAIRS.1.max(least))
}

/// The h least outlying rows for d components, and whether more than half of the rows lie on a hyperplane.
pub(crate) fn least_outlying(
    table: &Matrix,
    d: usize,
    stats: &FeatureStats,
    pairs: Option<usize>,
    seed: u64,
) -> Result<Vec<usize>> {
    let (n, features) = (table.rows(), table.columns());
    let h = majority(n, d);
    let resolution = &stats.resolution;
    let rough = (resolution.iter().map(|r| r * r).sum::<f64>() / features as f64).sqrt() / 3.0;
    let k = (d + EXTRA).min(n.min(features).saturating_sub(1)).min(h.saturating_sub(2)).max(1);
    let (directions, floors) = pair_directions(table, stats, pair_count(n, features, pairs), seed);
    let mut outlyingness = vec![0.0; n];
    measure(table, &directions, &floors, h, &mut outlyingness);
    let center = spatial_median(table);
    let spherical = leading(&unit_rows(table, &center), k, None)?.vectors.transposed();
    measure(table, &spherical, &vec![rough; spherical.rows()], h, &mut outlyingness);
    for _ in 0..2 {
        let half = smallest(&outlyingness, h);
        let found = leading(&centered_rows(table, &half), k, None)?.vectors.transposed();
        measure(table, &found, &vec![rough; found.rows()], h, &mut outlyingness);
    }
    Ok(smallest(&outlyingness, h))
}

/// The places of the h smallest values, ties in order of their places.
pub(crate) fn smallest(values: &[f64], h: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let before = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]).then(a.cmp(b));
    if h < order.len() {
        order.select_nth_unstable_by(h, before);
        order.truncate(h);
    }
    order.sort_unstable();
    order
}

/// Unit directions through pairs of rows, and the floor of the scale along each.
fn pair_directions(table: &Matrix, stats: &FeatureStats, count: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let (n, features) = (table.rows(), table.columns());
    let mut random = generator(seed, Stream::Pairs);
    let mut below = |bound: usize| (random.next_u64() % bound as u64) as usize;
    let pairs: Vec<(usize, usize)> = (0..count)
        .map(|_| {
            let first = below(n);
            (first, (first + 1 + below(n - 1)) % n)
        })
        .collect();
    let has_resolution = stats.has_resolution();
    let mut directions = Matrix::zeros(count, features);
    let floors = directions
        .data_mut()
        .par_chunks_mut(features)
        .zip(&pairs)
        .map(|(direction, &(a, b))| {
            let rows = table.row(a).iter().zip(table.row(b));
            direction.iter_mut().zip(rows).for_each(|(v, (x, y))| *v = x - y);
            let norm = square_norm(direction).sqrt();
            let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            direction.iter_mut().for_each(|v| *v *= inverse);
            if !has_resolution {
                return 0.0;
            }
            direction.iter().zip(&stats.resolution).map(|(v, r)| (v * r).powi(2)).sum::<f64>().sqrt() / 3.0
        })
        .collect();
    (directions, floors)
}

/// Raises the outlyingness of each row to its largest distance along some directions, in robust scales of at least a floor.
fn measure(table: &Matrix, directions: &Matrix, floors: &[f64], h: usize, outlyingness: &mut [f64]) {
    let (n, features) = (table.rows(), table.columns());
    let consistency = consistency(h as f64 / n as f64);
    let parts: Vec<Vec<f64>> = directions
        .data()
        .par_chunks(TASK_DIRECTIONS * features)
        .zip(floors.par_chunks(TASK_DIRECTIONS))
        .map(|(directions, floors)| {
            let count = floors.len();
            let mut projections = vec![0.0; count * n];
            let own = MatrixView::new(directions, count, features);
            add_product(&mut projections, own, table.view().transposed(), 1.0);
            let mut most = vec![0.0f64; n];
            let mut sorted = Vec::with_capacity(n);
            for (values, floor) in projections.chunks_exact(n).zip(floors) {
                let LocationScale { location, scale } = univariate_mcd(values, h, consistency, *floor, &mut sorted);
                most.iter_mut().zip(values).for_each(|(most, x)| *most = most.max((x - location).abs() / scale));
            }
            most
        })
        .collect();
    for part in parts {
        outlyingness.iter_mut().zip(part).for_each(|(o, own)| *o = o.max(own));
    }
}

/// The factor that makes the variance of the central share `a` of normal values that of all.
pub(crate) fn consistency(a: f64) -> f64 {
    if a >= 1.0 {
        return 1.0;
    }
    let q = chi_square_quantile(a, 1).sqrt();
    let density = (-0.5 * q * q).exp() / (2.0 * std::f64::consts::PI).sqrt();
    a / (a - 2.0 * q * density)
}

/// Reweighted univariate MCD: the h values of least variance, made consistent by `consistency`, then mean and deviation of the
/// values within 2.2414 of it; the scale is at least `floor`.
pub(crate) fn univariate_mcd(
    values: &[f64],
    h: usize,
    consistency: f64,
    floor: f64,
    sorted: &mut Vec<f64>,
) -> LocationScale {
    let floor = floor.max(TINY);
    sorted.clear();
    sorted.extend_from_slice(values);
    sorted.sort_unstable_by(f64::total_cmp);
    let raw = least_variance_window(sorted, h);
    let scale = (raw.scale * consistency.sqrt()).max(floor);
    let from = sorted.partition_point(|x| *x < raw.location - REWEIGHT * scale);
    let to = sorted.partition_point(|x| *x <= raw.location + REWEIGHT * scale).max(from);
    let inner = &sorted[from..to];
    let count = inner.len().max(1) as f64;
    // Around a point among the values, so that a common offset does not cancel.
    let origin = raw.location;
    let mean = inner.iter().map(|x| x - origin).sum::<f64>() / count;
    let square: f64 = inner.iter().map(|x| (x - origin - mean).powi(2)).sum();
    LocationScale { location: origin + mean, scale: (square / (count - 1.0).max(1.0)).sqrt().max(floor) }
}

fn spatial_median(table: &Matrix) -> Vec<f64> {
    let (n, features) = (table.rows(), table.columns());
    let mut center: Vec<f64> = (0..features)
        .into_par_iter()
        .map(|j| {
            let mut column: Vec<f64> = (0..n).map(|i| table[(i, j)]).collect();
            column.sort_unstable_by(f64::total_cmp);
            sorted_median(&column)
        })
        .collect();
    for _ in 0..MEDIAN_STEPS.0 {
        let distance = |row: &[f64]| row.iter().zip(&center).map(|(x, c)| (x - c).powi(2)).sum::<f64>().sqrt();
        let distances: Vec<f64> = table.data().par_chunks_exact(features).map(distance).collect();
        let mut ascending = distances.clone();
        ascending.sort_unstable_by(f64::total_cmp);
        let middle = sorted_median(&ascending);
        let least = 1e-9 * middle + TINY;
        let mut next = vec![0.0; features];
        let mut total = 0.0;
        for (row, distance) in table.data().chunks_exact(features).zip(&distances) {
            let w = 1.0 / distance.max(least);
            total += w;
            next.iter_mut().zip(row).for_each(|(sum, x)| *sum += w * x);
        }
        next.iter_mut().for_each(|x| *x /= total);
        let moved = distance(&next);
        center = next;
        if moved <= MEDIAN_STEPS.1 * middle {
            break;
        }
    }
    center
}

/// Rows around a center at length 1; 0 for a row at the center.
fn unit_rows(table: &Matrix, center: &[f64]) -> Matrix {
    let mut rows = table.clone();
    rows.data_mut().par_chunks_exact_mut(center.len()).for_each(|row| {
        row.iter_mut().zip(center).for_each(|(x, c)| *x -= c);
        let norm = square_norm(row).sqrt();
        let inverse = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        row.iter_mut().for_each(|x| *x *= inverse);
    });
    rows
}

/// Some rows of a table.
pub(crate) fn select_rows(table: &Matrix, rows: &[usize]) -> Matrix {
    let mut data = Vec::with_capacity(rows.len() * table.columns());
    rows.iter().for_each(|&i| data.extend_from_slice(table.row(i)));
    Matrix::from_vec(rows.len(), table.columns(), data)
}

/// Some rows of a table around their mean.
pub(crate) fn centered_rows(table: &Matrix, rows: &[usize]) -> Matrix {
    let mean = mean_of(table, rows);
    let mut data = Vec::with_capacity(rows.len() * table.columns());
    for &i in rows {
        data.extend(table.row(i).iter().zip(&mean).map(|(x, c)| x - c));
    }
    Matrix::from_vec(rows.len(), table.columns(), data)
}

/// The mean of some rows.
pub(crate) fn mean_of(table: &Matrix, rows: &[usize]) -> Vec<f64> {
    let mut mean = vec![0.0; table.columns()];
    for &i in rows {
        mean.iter_mut().zip(table.row(i)).for_each(|(sum, x)| *sum += x);
    }
    let count = rows.len().max(1) as f64;
    mean.iter_mut().for_each(|x| *x /= count);
    mean
}
