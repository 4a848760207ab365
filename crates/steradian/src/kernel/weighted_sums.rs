//! Squared distances of rows to a point, and weighted sums of differences to it, in f64.
//!
//! | symbol | here |
//! |---|---|
//! | y | `point` |
//! | norm(x - y)^2 | [`squared_distances`] |
//! | sum of w (x - y) over some rows | [`add_weighted`] |
//!
//! In f64, because the spatial median is computed to more digits than f32 has, and because converting u8 costs more
//! than the arithmetic. Cost: 3 flops per cell each.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::data::block::{Block, Rows, each_element};
use crate::data::element::Element;

/// Number of independent sums, which hide the latency of an addition and keep rounding errors small.
const LANES: usize = 16;
/// Rows added at a time, so that sums are loaded and stored once per group.
const ROW_GROUP: usize = 4;

/// norm(x - y)^2 of some rows; it may overflow or underflow.
pub(crate) fn squared_distances(block: &Block<'_>, rows: Range<usize>, point: &[f64], out: &mut [f64]) {
    each_element!(block, data => typed_distances(&data, rows, point, out));
}

fn typed_distances<T: Element>(data: &Rows<'_, T>, rows: Range<usize>, point: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(SquaredDistances { data, rows, point, out });
}

struct SquaredDistances<'a, T> {
    data: &'a Rows<'a, T>,
    rows: Range<usize>,
    point: &'a [f64],
    out: &'a mut [f64],
}

impl<T: Element> WithSimd for SquaredDistances<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, out) in self.rows.zip(self.out) {
            *out = match self.data.row(row, 0, self.data.columns()) {
                Some(row) => squares(row, self.point),
                None => {
                    let values: Vec<T> = (0..self.data.columns()).map(|j| self.data.get(row, j)).collect();
                    squares(&values, self.point)
                }
            };
        }
    }
}

#[inline(always)]
fn squares<T: Element>(row: &[T], point: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (points, point_rest) = point.as_chunks::<LANES>();
    for (x, y) in rows.iter().zip(points) {
        for k in 0..LANES {
            let z = x[k].widen() - y[k];
            sums[k] += z * z;
        }
    }
    let rest: f64 = row_rest.iter().zip(point_rest).map(|(x, y)| (x.widen() - y).powi(2)).sum();
    sums.iter().sum::<f64>() + rest
}

/// Adds w (x - y) of some rows, given with their weights, to `sums`, over some columns; `point` is y in these columns.
pub(crate) fn add_weighted(
    block: &Block<'_>,
    rows: &[(usize, f64)],
    columns: Range<usize>,
    point: &[f64],
    sums: &mut [f64],
) {
    each_element!(block, data => typed_weighted(&data, rows, columns, point, sums));
}

fn typed_weighted<T: Element>(
    data: &Rows<'_, T>,
    rows: &[(usize, f64)],
    columns: Range<usize>,
    point: &[f64],
    sums: &mut [f64],
) {
    Arch::new().dispatch(AddWeighted { data, rows, columns, point, sums });
}

struct AddWeighted<'a, T> {
    data: &'a Rows<'a, T>,
    rows: &'a [(usize, f64)],
    columns: Range<usize>,
    point: &'a [f64],
    sums: &'a mut [f64],
}

impl<T: Element> WithSimd for AddWeighted<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Range { start, end } = self.columns;
        let (groups, rest) = self.rows.as_chunks::<ROW_GROUP>();
        for group in groups {
            let w = group.map(|(_, w)| w);
            let [Some(a), Some(b), Some(c), Some(d)] = group.map(|(row, _)| self.data.row(row, start, end)) else {
                // In the same order as below, so that the sums do not depend on the layout.
                for (j, (sum, y)) in self.sums.iter_mut().zip(self.point).enumerate() {
                    let [a, b, c, d] = group.map(|(row, w)| (self.data.get(row, start + j).widen() - y) * w);
                    *sum += (a + b) + (c + d);
                }
                continue;
            };
            let values = a.iter().zip(b).zip(c).zip(d).zip(self.point);
            for (sum, ((((a, b), c), d), y)) in self.sums.iter_mut().zip(values) {
                let ab = (a.widen() - y) * w[0] + (b.widen() - y) * w[1];
                *sum += ab + ((c.widen() - y) * w[2] + (d.widen() - y) * w[3]);
            }
        }
        rest.iter().for_each(|&(row, w)| add_row(self.data, row, w, start, self.point, self.sums));
    }
}

#[inline(always)]
fn add_row<T: Element>(data: &Rows<'_, T>, row: usize, w: f64, start: usize, point: &[f64], sums: &mut [f64]) {
    match data.row(row, start, start + sums.len()) {
        Some(row) => sums.iter_mut().zip(row).zip(point).for_each(|((s, x), y)| *s += (x.widen() - y) * w),
        None => {
            for (j, (sum, y)) in sums.iter_mut().zip(point).enumerate() {
                *sum += (data.get(row, start + j).widen() - y) * w;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Element>(rows: usize, features: usize, data: &[T]) {
        let contiguous = Rows::contiguous(data, rows, features).unwrap();
        let transposed: Vec<T> = (0..rows * features).map(|i| data[(i % rows) * features + i / rows]).collect();
        let strided = Rows::strided(&transposed, 0, rows, features, 1, rows as isize).unwrap();
        let point: Vec<f64> = (0..features).map(|k| 90.0 + (k % 7) as f64 / 3.0).collect();
        // Some rows are left out.
        let weights: Vec<(usize, f64)> = (0..rows).filter(|i| i % 5 != 2).map(|i| (i, 1.0 / (i + 1) as f64)).collect();
        let z = |i: usize, k: usize| contiguous.get(i, k).widen() - point[k];
        for data in [contiguous, strided] {
            let mut squares = vec![0.0; rows];
            typed_distances(&data, 0..rows, &point, &mut squares);
            for (i, square) in squares.iter().enumerate() {
                let expected: f64 = (0..features).map(|k| z(i, k).powi(2)).sum();
                assert!((square - expected).abs() <= 1e-13 * expected, "{rows} x {features}: {square} {expected}");
            }
            for columns in [0..features, features / 3..features, 0..features.min(1)] {
                let mut sums = vec![1.0; columns.len()];
                typed_weighted(&data, &weights, columns.clone(), &point[columns.clone()], &mut sums);
                for (k, sum) in columns.zip(sums) {
                    let expected: f64 = 1.0 + weights.iter().map(|&(i, w)| w * z(i, k)).sum::<f64>();
                    assert!((sum - expected).abs() <= 1e-11, "{rows} x {features}: {sum} {expected}");
                }
            }
        }
    }

    fn check_all(rows: usize, features: usize) {
        let bytes: Vec<u8> = (0..rows * features).map(|i| (i * 7919 % 251) as u8).collect();
        check(rows, features, &bytes);
        check(rows, features, &bytes.iter().map(|&b| u16::from(b)).collect::<Vec<_>>());
        check(rows, features, &bytes.iter().map(|&b| f32::from(b) + 0.25).collect::<Vec<_>>());
        check(rows, features, &bytes.iter().map(|&b| f64::from(b) + 0.1).collect::<Vec<_>>());
    }

    #[test]
    fn kernels_equal_the_reference_around_edges() {
        for (rows, features) in
            [(0, 5), (1, 1), (1, 0), (3, 6), (4, 8), (5, 16), (60, 17), (6, 256), (8, 512), (9, 513)]
        {
            check_all(rows, features);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn kernels_equal_the_reference_anywhere(rows in 0usize..40, features in 0usize..300) {
            check_all(rows, features);
        }
    }
}
