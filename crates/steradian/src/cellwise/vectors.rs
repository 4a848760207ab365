//! Products of one row with a few components, at the vector length of the CPU; a sum depends on the row alone.

use pulp::{Arch, Simd, WithSimd};

use crate::numeric::linalg::Matrix;

/// Partial sums of a product, which the compiler keeps in vector registers.
const LANES: usize = 8;
/// Components that share one read of the row.
const TOGETHER: usize = 4;
/// Components that are subtracted from a row together.
const GROUP: usize = 8;
/// Cells of a row that are processed at a time: they and their loadings stay in the cache.
const TILE: usize = 1024;
/// Values of which each is looked at only if one of them is beyond a limit.
const SCANNED: usize = 32;

/// The products of a row with the rows of a matrix.
pub(crate) fn row_products(row: &[f64], components: &Matrix, out: &mut [f64]) {
    Arch::new().dispatch(RowProducts { row, components, out });
}

/// The square of the 2-norm.
pub(crate) fn square_norm(row: &[f64]) -> f64 {
    Arch::new().dispatch(SquareNorm { row })
}

/// A row around its center and its scores, which give its residuals.
#[derive(Clone, Copy)]
pub(crate) struct Fitted<'a> {
    pub row: &'a [f64],
    pub scores: &'a [f64],
    /// d x D.
    pub components: &'a Matrix,
}

/// Writes the residuals of a row, 0 for the listed cells, in ascending order; returns the sum of their squares.
pub(crate) fn residuals(fitted: Fitted<'_>, without: &[u32], out: &mut [f64]) -> f64 {
    Arch::new().dispatch(Compare { fitted, without, inverse_scales: None, out }).0
}

/// Like [`residuals`], but writes their absolute values over the scales; also returns the largest of these.
pub(crate) fn standardized_residuals(
    fitted: Fitted<'_>,
    without: &[u32],
    inverse_scales: &[f64],
    out: &mut [f64],
) -> (f64, f64) {
    Arch::new().dispatch(Compare { fitted, without, inverse_scales: Some(inverse_scales), out })
}

/// The places of the values above `limit`.
pub(crate) fn list_beyond(values: &[f64], limit: f64) -> Vec<u32> {
    Arch::new().dispatch(ListBeyond { values, limit })
}

/// The columns of a matrix with zeros after them, so that each row consists of complete vectors.
pub(crate) fn padded(columns: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(columns.rows(), columns.columns().next_multiple_of(LANES));
    for j in 0..columns.rows() {
        out.row_mut(j)[..columns.columns()].copy_from_slice(columns.row(j));
    }
    out
}

/// The sum of q q' over some rows q of a [`padded`] matrix, with d x d numbers.
pub(crate) fn sum_of_outer_products(columns: &Matrix, d: usize, rows: &[u32]) -> Vec<f64> {
    let stride = columns.columns();
    let mut sums = vec![0.0; stride * stride];
    Arch::new().dispatch(OuterProducts { columns, rows, sums: &mut sums });
    for a in 1..d {
        sums.copy_within(a * stride..a * stride + d, a * d);
    }
    sums.truncate(d * d);
    sums
}

/// `sums -= sum of z q` over some rows q of a [`padded`] matrix and their values z.
pub(crate) fn subtract_rows(columns: &Matrix, rows: &[u32], values: &[f64], sums: &mut [f64]) {
    let mut total = vec![0.0; columns.columns()];
    Arch::new().dispatch(AddRows { columns, rows, values, sums: &mut total });
    sums.iter_mut().zip(&total).for_each(|(sum, x)| *sum -= x);
}

/// `out = row - center`, within `largest`; returns true if a cell is missing.
pub(crate) fn center_row(row: &[f64], center: &[f64], largest: f64, out: &mut [f64]) -> bool {
    Arch::new().dispatch(CenterRow { row, center, largest, out })
}

/// `sums += factor * row`.
pub(crate) fn add_scaled(sums: &mut [f64], factor: f64, row: &[f64]) {
    Arch::new().dispatch(AddScaled { sums, factor, row });
}

/// The number of values that are at most `limit`.
pub(crate) fn count_up_to(values: &[f64], limit: f64) -> usize {
    Arch::new().dispatch(CountUpTo { values, limit })
}

// A closure may be called out of line, without the vector instructions, and each fused multiplication is then a call of a function;
// a method that is always inlined is not.

struct RowProducts<'a> {
    row: &'a [f64],
    components: &'a Matrix,
    out: &'a mut [f64],
}

impl WithSimd for RowProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let mut k = 0;
        while k + TOGETHER <= self.out.len() {
            let others: [&[f64]; TOGETHER] = std::array::from_fn(|i| self.components.row(k + i));
            self.out[k..k + TOGETHER].copy_from_slice(&dots(self.row, others));
            k += TOGETHER;
        }
        while k < self.out.len() {
            [self.out[k]] = dots(self.row, [self.components.row(k)]);
            k += 1;
        }
    }
}

/// The products of a row with some others; the order of each sum does not depend on how many there are.
#[inline(always)]
fn dots<const N: usize>(row: &[f64], others: [&[f64]; N]) -> [f64; N] {
    let mut sums = [[0.0f64; LANES]; N];
    let (row_lanes, row_rest) = row.as_chunks::<LANES>();
    let places = row_lanes.len();
    let others_lanes: [&[[f64; LANES]]; N] = std::array::from_fn(|i| &others[i].as_chunks::<LANES>().0[..places]);
    for (place, x) in row_lanes.iter().enumerate() {
        for i in 0..N {
            let y = &others_lanes[i][place];
            for lane in 0..LANES {
                sums[i][lane] = x[lane].mul_add(y[lane], sums[i][lane]);
            }
        }
    }
    let mut out = [0.0; N];
    for i in 0..N {
        let mut rest = 0.0;
        for (x, y) in row_rest.iter().zip(&others[i][places * LANES..]) {
            rest += x * y;
        }
        for sum in sums[i] {
            out[i] += sum;
        }
        out[i] += rest;
    }
    out
}

struct SquareNorm<'a> {
    row: &'a [f64],
}

impl WithSimd for SquareNorm<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f64 {
        dots(self.row, [self.row])[0]
    }
}

/// `out += factors * others`, in this order.
#[inline(always)]
fn add_multiples<const N: usize>(out: &mut [f64], factors: [f64; N], others: [&[f64]; N]) {
    let others: [&[f64]; N] = std::array::from_fn(|i| &others[i][..out.len()]);
    for (j, out) in out.iter_mut().enumerate() {
        let mut x = *out;
        for i in 0..N {
            x = factors[i].mul_add(others[i][j], x);
        }
        *out = x;
    }
}

struct AddScaled<'a> {
    sums: &'a mut [f64],
    factor: f64,
    row: &'a [f64],
}

impl WithSimd for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        add_multiples(self.sums, [self.factor], [self.row]);
    }
}

struct Compare<'a> {
    fitted: Fitted<'a>,
    without: &'a [u32],
    inverse_scales: Option<&'a [f64]>,
    out: &'a mut [f64],
}

impl WithSimd for Compare<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> (f64, f64) {
        let Self { fitted, mut without, inverse_scales, out } = self;
        let (mut squares, mut square, mut largest) = ([0.0f64; LANES], 0.0f64, 0.0f64);
        let features = out.len();
        let mut start = 0;
        while start < features {
            let end = (start + TILE).min(features);
            let tile = &mut out[start..end];
            subtract_fitted(fitted, start, tile);
            while let Some((&j, rest)) = without.split_first()
                && (j as usize) < end
            {
                tile[j as usize - start] = 0.0;
                without = rest;
            }
            let (lanes, rest) = tile.as_chunks::<LANES>();
            for x in lanes {
                for lane in 0..LANES {
                    squares[lane] = x[lane].mul_add(x[lane], squares[lane]);
                }
            }
            for x in rest {
                square += x * x;
            }
            if let Some(inverse_scales) = inverse_scales {
                largest = largest.max(divide(tile, &inverse_scales[start..end]));
            }
            start = end;
        }
        (squares.iter().sum::<f64>() + square, largest)
    }
}

/// The part of a row from `start` on less what the components explain of it.
#[inline(always)]
fn subtract_fitted(fitted: Fitted<'_>, start: usize, out: &mut [f64]) {
    let row = &fitted.row[start..start + out.len()];
    let d = fitted.scores.len();
    // One pass over the cells for the first one to eight components, and one for each eight others.
    let mut k = (d + GROUP - 1) % GROUP + 1;
    match k {
        1 => subtract_first::<1>(fitted, row, start, out),
        2 => subtract_first::<2>(fitted, row, start, out),
        3 => subtract_first::<3>(fitted, row, start, out),
        4 => subtract_first::<4>(fitted, row, start, out),
        5 => subtract_first::<5>(fitted, row, start, out),
        6 => subtract_first::<6>(fitted, row, start, out),
        7 => subtract_first::<7>(fitted, row, start, out),
        _ => subtract_first::<GROUP>(fitted, row, start, out),
    }
    while k < d {
        let others: [&[f64]; GROUP] = loadings(fitted, k, start, out.len());
        add_multiples(out, std::array::from_fn(|i| -fitted.scores[k + i]), others);
        k += GROUP;
    }
}

/// The row less what the first N components explain of it.
#[inline(always)]
fn subtract_first<const N: usize>(fitted: Fitted<'_>, row: &[f64], start: usize, out: &mut [f64]) {
    let others: [&[f64]; N] = loadings(fitted, 0, start, out.len());
    let factors: [f64; N] = std::array::from_fn(|i| -fitted.scores[i]);
    for (j, (out, x)) in out.iter_mut().zip(row).enumerate() {
        let mut x = *x;
        for i in 0..N {
            x = factors[i].mul_add(others[i][j], x);
        }
        *out = x;
    }
}

/// Loadings of N components, from component k on, on some cells.
#[inline(always)]
fn loadings<'a, const N: usize>(fitted: Fitted<'a>, k: usize, start: usize, cells: usize) -> [&'a [f64]; N] {
    std::array::from_fn(|i| &fitted.components.row(k + i)[start..start + cells])
}

/// `values = |values| / scales`, and the largest of them, which is not NaN.
#[inline(always)]
fn divide(values: &mut [f64], inverse_scales: &[f64]) -> f64 {
    let mut largest = [0.0f64; LANES];
    let (values_lanes, rest) = values.as_chunks_mut::<LANES>();
    let (scales_lanes, scales_rest) = inverse_scales.as_chunks::<LANES>();
    for (x, s) in values_lanes.iter_mut().zip(scales_lanes) {
        for lane in 0..LANES {
            x[lane] = x[lane].abs() * s[lane];
            largest[lane] = if x[lane] > largest[lane] { x[lane] } else { largest[lane] };
        }
    }
    let mut most = 0.0f64;
    for x in largest {
        most = most.max(x);
    }
    for (x, s) in rest.iter_mut().zip(scales_rest) {
        *x = x.abs() * s;
        most = most.max(*x);
    }
    most
}

struct ListBeyond<'a> {
    values: &'a [f64],
    limit: f64,
}

impl WithSimd for ListBeyond<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<u32> {
        let mut list = Vec::new();
        for (group, values) in self.values.chunks(SCANNED).enumerate() {
            let mut beyond = 0u64;
            for x in values {
                beyond += u64::from(*x > self.limit);
            }
            if beyond > 0 {
                let places = values.iter().enumerate().filter(|(_, x)| **x > self.limit);
                list.extend(places.map(|(j, _)| (group * SCANNED + j) as u32));
            }
        }
        list
    }
}

struct OuterProducts<'a> {
    columns: &'a Matrix,
    rows: &'a [u32],
    sums: &'a mut [f64],
}

impl WithSimd for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let stride = self.columns.columns();
        if stride == LANES {
            // All sums in registers.
            let mut sums = [[0.0f64; LANES]; LANES];
            for &row in self.rows {
                let q = &self.columns.row(row as usize).as_chunks::<LANES>().0[0];
                for a in 0..LANES {
                    for lane in 0..LANES {
                        sums[a][lane] = q[a].mul_add(q[lane], sums[a][lane]);
                    }
                }
            }
            return self.sums.copy_from_slice(sums.as_flattened());
        }
        for &row in self.rows {
            let q = self.columns.row(row as usize);
            let lanes = q.as_chunks::<LANES>().0;
            for (a, sums) in self.sums.chunks_exact_mut(stride).enumerate() {
                add_lanes(sums, q[a], lanes);
            }
        }
    }
}

/// `sums += factor * lanes`.
#[inline(always)]
fn add_lanes(sums: &mut [f64], factor: f64, lanes: &[[f64; LANES]]) {
    for (sum, x) in sums.as_chunks_mut::<LANES>().0.iter_mut().zip(lanes) {
        for lane in 0..LANES {
            sum[lane] = factor.mul_add(x[lane], sum[lane]);
        }
    }
}

struct AddRows<'a> {
    columns: &'a Matrix,
    rows: &'a [u32],
    values: &'a [f64],
    sums: &'a mut [f64],
}

impl WithSimd for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for &row in self.rows {
            let lanes = self.columns.row(row as usize).as_chunks::<LANES>().0;
            add_lanes(self.sums, self.values[row as usize], lanes);
        }
    }
}

struct CenterRow<'a> {
    row: &'a [f64],
    center: &'a [f64],
    largest: f64,
    out: &'a mut [f64],
}

impl WithSimd for CenterRow<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let mut missing = 0u64;
        for (z, (x, mu)) in self.out.iter_mut().zip(self.row.iter().zip(self.center)) {
            missing += u64::from(x.is_nan());
            // A comparison with NaN is false, so a missing cell becomes 0.
            let y = x - mu;
            let bounded = if y > self.largest { self.largest } else { y };
            *z = if bounded > -self.largest {
                bounded
            } else if x.is_nan() {
                0.0
            } else {
                -self.largest
            };
        }
        missing > 0
    }
}

struct CountUpTo<'a> {
    values: &'a [f64],
    limit: f64,
}

impl WithSimd for CountUpTo<'_> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        let mut count = 0u64;
        for x in self.values {
            count += u64::from(*x <= self.limit);
        }
        count as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(length: usize, factor: usize, modulus: usize) -> Vec<f64> {
        (0..length).map(|j| (j * factor % modulus) as f64 - (modulus / 2) as f64).collect()
    }

    #[test]
    fn products_and_residuals_are_those_of_plain_loops() {
        for length in [1, 7, 8, 9, 16, 31, 32, 33, 63, 64, 100, 2100] {
            let row = integers(length, 37, 11);
            let components = Matrix::from_vec(5, length, integers(5 * length, 13, 7));
            let mut products = [9.0; 5];
            row_products(&row, &components, &mut products);
            for (k, product) in products.iter().enumerate() {
                let plain: f64 = row.iter().zip(components.row(k)).map(|(x, q)| x * q).sum();
                assert_eq!(*product, plain, "sums of integers are exact");
            }
            let fitted = Fitted { row: &row, scores: &[1.0, -2.0, 0.0, 3.0, 1.0], components: &components };
            let without: Vec<u32> = (0..length as u32).filter(|j| j % 4 == 3 || j % 32 == 0).collect();
            let plain: Vec<f64> = (0..length)
                .map(|j| {
                    let along: f64 = (0..5).map(|k| fitted.scores[k] * components[(k, j)]).sum();
                    if without.contains(&(j as u32)) { 0.0 } else { row[j] - along }
                })
                .collect();
            let mut out = vec![9.0; length];
            let square = residuals(fitted, &without, &mut out);
            assert_eq!(out, plain);
            assert_eq!(square, plain.iter().map(|x| x * x).sum::<f64>());
            let found = standardized_residuals(fitted, &without, &vec![2.0; length], &mut out);
            assert_eq!(found, (square, plain.iter().fold(0.0, |m: f64, x| m.max(x.abs() * 2.0))));
            assert!(out.iter().zip(&plain).all(|(a, b)| *a == b.abs() * 2.0));
            assert_eq!(count_up_to(&out, 8.0), plain.iter().filter(|x| x.abs() <= 4.0).count());
            let listed = list_beyond(&row, 3.0);
            assert_eq!(listed, (0..length as u32).filter(|&j| row[j as usize] > 3.0).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sums_over_rows_are_those_of_plain_loops() {
        for d in [1, 3, 8, 11] {
            let columns = Matrix::from_vec(9, d, integers(9 * d, 13, 7));
            let rows = [0, 4, 8];
            let sums = sum_of_outer_products(&padded(&columns), d, &rows);
            for (place, sum) in sums.iter().enumerate() {
                let plain = rows.map(|j| columns[(j as usize, place / d)] * columns[(j as usize, place % d)]);
                assert_eq!(*sum, plain.iter().sum::<f64>());
            }
            assert_eq!(sums.len(), d * d);
            let (values, mut left) = (integers(9, 5, 11), vec![2.0; d]);
            subtract_rows(&padded(&columns), &rows, &values, &mut left);
            for (k, left) in left.iter().enumerate() {
                assert_eq!(
                    *left,
                    2.0 - rows.map(|j| values[j as usize] * columns[(j as usize, k)]).iter().sum::<f64>()
                );
            }
        }
    }

    #[test]
    fn centered_rows_are_bounded_and_zero_where_a_cell_is_missing() {
        let mut out = [9.0; 4];
        assert!(center_row(&[3.0, f64::NAN, 1e300, -1e300], &[1.0, 1.0, 0.0, 0.0], 1e290, &mut out));
        assert_eq!(out, [2.0, 0.0, 1e290, -1e290]);
        assert!(!center_row(&[1.0; 4], &[1.0; 4], 1e290, &mut out));
    }
}
