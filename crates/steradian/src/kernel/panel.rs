//! Panels: a few rows by a few hundred columns of a block, centered and converted to f64.
//!
//! Data are never converted as a whole: a panel fits into the L2 cache and is discarded after use.

use std::ops::Range;

use pulp::Arch;

use crate::config::options::Missing;
use crate::data::block::{Block, Rows, each_element};
use crate::data::element::Element;
use crate::error::{Error, Result};
use crate::memory;

/// Columns per panel.
pub(crate) const COLUMNS: usize = 512;

/// The column ranges of all panels.
pub(crate) fn panels(features: usize) -> impl Iterator<Item = Range<usize>> {
    (0..features).step_by(COLUMNS).map(move |start| start..(start + COLUMNS).min(features))
}

/// The row ranges of all chunks of `size` rows.
pub(crate) fn chunks(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(size).map(move |start| start..(start + size).min(rows))
}

/// A buffer for a panel of this many rows.
pub(crate) fn buffer(rows: usize) -> Vec<f64> {
    memory::filled(rows * COLUMNS, 0.0)
}

/// The sum of squares of a row of a panel, as independent partial sums, so that the loop vectorizes.
pub(crate) fn sum_of_squares(row: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let mut groups = row.chunks_exact(LANES);
    for group in &mut groups {
        sums.iter_mut().zip(group).for_each(|(sum, x)| *sum += x * x);
    }
    sums.iter().sum::<f64>() + groups.remainder().iter().map(|x| x * x).sum::<f64>()
}

/// Writes `weight * (x - center)` for the given rows and columns of a block into `out`, row by row.
pub(crate) fn center(
    block: &Block<'_>,
    rows: Range<usize>,
    columns: Range<usize>,
    center: &[f64],
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    each_element!(block, data => Arch::new().dispatch(|| center_rows(&data, rows, columns, center, weights, out)));
}

#[inline(always)]
fn center_rows<T: Element>(
    data: &Rows<'_, T>,
    rows: Range<usize>,
    columns: Range<usize>,
    center: &[f64],
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    let center = &center[columns.clone()];
    let width = columns.len();
    for (out, row) in out.chunks_mut(width).zip(rows.clone()) {
        match data.row(row, columns.start, columns.end) {
            Some(row) => out.iter_mut().zip(row).zip(center).for_each(|((o, x), c)| *o = x.widen() - c),
            None => out
                .iter_mut()
                .zip(columns.clone())
                .zip(center)
                .for_each(|((o, j), c)| *o = data.get(row, j).widen() - c),
        }
    }
    if let Some(weights) = weights {
        for (out, w) in out.chunks_mut(width).zip(weights) {
            out.iter_mut().for_each(|x| *x *= w);
        }
    }
}

/// Norms of one sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Norms {
    /// norm(x - center).
    pub from_center: f64,
    /// norm(x).
    pub from_origin: f64,
}

/// Sums of squares outside of this range are computed again with scaling: below, terms may have underflowed; above,
/// overflowed.
const SAFE_SQUARES: Range<f64> = 1e-270..1e300;

/// True if a sum of squares has neither overflowed nor underflowed.
pub(crate) fn is_safe_square(square: f64) -> bool {
    SAFE_SQUARES.contains(&square)
}

/// The root of a squared distance that a kernel has computed; computed again if the square is outside of
/// [`SAFE_SQUARES`].
pub(crate) fn safe_norm(square: f64, block: &Block<'_>, row: usize, center: &[f64]) -> f64 {
    if SAFE_SQUARES.contains(&square) { square.sqrt() } else { norms(block, row..row + 1, center)[0].from_center }
}

/// The norms of some rows.
pub(crate) fn norms(block: &Block<'_>, rows: Range<usize>, center: &[f64]) -> Vec<Norms> {
    each_element!(block, data => rows.map(|row| row_norms(&data, row, center)).collect())
}

fn row_norms<T: Element>(data: &Rows<'_, T>, row: usize, center: &[f64]) -> Norms {
    let columns = data.columns();
    let (centered, uncentered) = match data.row(row, 0, columns) {
        Some(row) => squares(row.iter().map(|x| x.widen()), center),
        None => squares((0..columns).map(|j| data.get(row, j).widen()), center),
    };
    let value = |j: usize| data.get(row, j).widen();
    Norms {
        from_center: safe_root(centered, columns, |j| value(j) - center[j]),
        from_origin: safe_root(uncentered, columns, value),
    }
}

/// Sums of squares about the center and about the origin.
#[inline(always)]
fn squares(row: impl Iterator<Item = f64>, center: &[f64]) -> (f64, f64) {
    const LANES: usize = 8; // independent sums, so that the loop vectorizes and rounding errors stay small
    let (mut centered, mut uncentered) = ([0.0; LANES], [0.0; LANES]);
    let mut row = row;
    for center in center.chunks(LANES) {
        for ((centered, uncentered), (x, c)) in centered.iter_mut().zip(&mut uncentered).zip(row.by_ref().zip(center)) {
            let z = x - c;
            *centered += z * z;
            *uncentered += x * x;
        }
    }
    (centered.iter().sum(), uncentered.iter().sum())
}

/// The root of a sum of squares; computed again with values divided by the largest one if it is outside of
/// [`SAFE_SQUARES`].
fn safe_root(square: f64, columns: usize, value: impl Fn(usize) -> f64) -> f64 {
    if SAFE_SQUARES.contains(&square) {
        return square.sqrt();
    }
    let largest = (0..columns).map(|j| value(j).abs()).fold(0.0, f64::max);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * (0..columns).map(|j| (value(j) / largest).powi(2)).sum::<f64>().sqrt()
}

/// An error with the first cell of the block that is infinite, or missing unless that is permitted, if there is one.
pub(crate) fn require_finite(block: &Block<'_>, missing: Missing) -> Result<()> {
    each_element!(block, data => {
        for row in 0..data.rows() {
            for column in 0..data.columns() {
                let x = data.get(row, column).widen();
                if x.is_infinite() || (x.is_nan() && missing == Missing::Error) {
                    return Err(Error::NotFinite { value: x, row: block.first() + row, column });
                }
            }
        }
        Ok(())
    })
}

/// True if a cell of the block is missing.
pub(crate) fn has_missing(block: &Block<'_>) -> bool {
    each_element!(block, data => {
        (0..data.rows()).any(|row| match data.row(row, 0, data.columns()) {
            Some(cells) => cells.iter().any(|x| x.is_missing()),
            None => (0..data.columns()).any(|column| data.get(row, column).is_missing()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::block::BlockData;

    #[test]
    fn strided_and_contiguous_rows_give_the_same_panel() {
        let (n, features) = (5, 700);
        let c: Vec<f32> = (0..n * features).map(|i| (i * 31 % 97) as f32).collect();
        let fortran: Vec<f32> = (0..n * features).map(|i| c[(i % n) * features + i / n]).collect();
        let a = Block::new(0, BlockData::F32(Rows::contiguous(&c, n, features).unwrap()));
        let b = Block::new(0, BlockData::F32(Rows::strided(&fortran, 0, n, features, 1, n as isize).unwrap()));
        let mu: Vec<f64> = (0..features).map(|j| j as f64 / 3.0).collect();
        let weights = [1.0, 2.0, 0.5];
        for columns in panels(features) {
            let (mut x, mut y) = (buffer(3), buffer(3));
            center(&a, 1..4, columns.clone(), &mu, Some(&weights), &mut x);
            center(&b, 1..4, columns.clone(), &mu, Some(&weights), &mut y);
            assert_eq!(x, y);
            assert_eq!(x[columns.len()], 2.0 * (f64::from(c[2 * features + columns.start]) - mu[columns.start]));
        }
        assert_eq!(norms(&a, 0..n, &mu), norms(&b, 0..n, &mu));
    }

    #[test]
    fn norms_neither_overflow_nor_underflow() {
        for scale in [1e-300, 1e-150, 1.0, 1e150, 1e300] {
            let data = [3.0 * scale, 4.0 * scale];
            let block = Block::new(0, BlockData::F64(Rows::contiguous(&data, 1, 2).unwrap()));
            let found = norms(&block, 0..1, &[0.0, 0.0])[0];
            assert!((found.from_center / (5.0 * scale) - 1.0).abs() < 1e-15, "{scale:e}: {found:?}");
        }
    }
}
