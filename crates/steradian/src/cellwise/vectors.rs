//! Products of one row with a few components, at the vector length of the CPU; a sum depends on the row alone.

use pulp::{Arch, Simd, WithSimd};

use super::row_step::CellState;
use crate::numeric::linalg::Matrix;

/// Partial sums of a product, which the compiler keeps in vector registers.
const LANES: usize = 8;
/// Components that share one read of the row.
const TOGETHER: usize = 4;
/// Cells of a row that are processed at a time: they and their loadings stay in the cache.
const TILE: usize = 1024;

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

/// Writes the residuals of a row, 0 for cells that are not usable if there are some; returns the sum of their squares.
pub(crate) fn residuals(fitted: Fitted<'_>, states: Option<&[CellState]>, out: &mut [f64]) -> f64 {
    Arch::new().dispatch(Compare { fitted, states, scales: None, out }).0
}

/// Like [`residuals`], but writes their absolute values over the scales; also returns the largest of these.
pub(crate) fn standardized_residuals(
    fitted: Fitted<'_>,
    states: Option<&[CellState]>,
    inverse_scales: &[f64],
    out: &mut [f64],
) -> (f64, f64) {
    Arch::new().dispatch(Compare { fitted, states, scales: Some(inverse_scales), out })
}

/// Marks the cells whose absolute residual over the scale is above `limit` as bad, the other ones that are present as usable, and
/// writes the products of the components with the usable cells; returns the number of bad cells.
pub(crate) fn mark_bad(
    fitted: Fitted<'_>,
    inverse_scales: &[f64],
    (limit, has_missing): (f64, bool),
    states: &mut [CellState],
    products: &mut [f64],
) -> usize {
    Arch::new().dispatch(MarkBad { fitted, inverse_scales, limit, has_missing, states, products })
}

/// The sum of q q' over some rows q of a matrix, d x d.
pub(crate) fn sum_of_outer_products(columns: &Matrix, rows: &[u32]) -> Vec<f64> {
    let d = columns.columns();
    let stride = d.next_multiple_of(LANES);
    let mut sums = vec![0.0; d * stride];
    Arch::new().dispatch(OuterProducts { columns, rows, stride, sums: &mut sums });
    for a in 1..d {
        sums.copy_within(a * stride..a * stride + d, a * d);
    }
    sums.truncate(d * d);
    sums
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

/// The part of a row from `start` on less what the components explain of it.
#[inline(always)]
fn subtract_fitted(fitted: Fitted<'_>, start: usize, out: &mut [f64]) {
    let end = start + out.len();
    out.copy_from_slice(&fitted.row[start..end]);
    let mut k = 0;
    while k + TOGETHER <= fitted.scores.len() {
        let others: [&[f64]; TOGETHER] = std::array::from_fn(|i| &fitted.components.row(k + i)[start..end]);
        let factors: [f64; TOGETHER] = std::array::from_fn(|i| -fitted.scores[k + i]);
        add_multiples(out, factors, others);
        k += TOGETHER;
    }
    while k < fitted.scores.len() {
        add_multiples(out, [-fitted.scores[k]], [&fitted.components.row(k)[start..end]]);
        k += 1;
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
    states: Option<&'a [CellState]>,
    scales: Option<&'a [f64]>,
    out: &'a mut [f64],
}

impl WithSimd for Compare<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> (f64, f64) {
        let Self { fitted, states, scales, out } = self;
        let (mut squares, mut square, mut largest) = ([0.0f64; LANES], 0.0f64, 0.0f64);
        let features = out.len();
        let mut start = 0;
        while start < features {
            let end = (start + TILE).min(features);
            let tile = &mut out[start..end];
            subtract_fitted(fitted, start, tile);
            if let Some(states) = states {
                for (residual, state) in tile.iter_mut().zip(&states[start..end]) {
                    *residual = if *state == CellState::Usable { *residual } else { 0.0 };
                }
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
            if let Some(scales) = scales {
                largest = largest.max(divide(tile, &scales[start..end]));
            }
            start = end;
        }
        let mut sum = 0.0;
        for x in squares {
            sum += x;
        }
        (sum + square, largest)
    }
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

struct MarkBad<'a> {
    fitted: Fitted<'a>,
    inverse_scales: &'a [f64],
    limit: f64,
    has_missing: bool,
    states: &'a mut [CellState],
    products: &'a mut [f64],
}

impl WithSimd for MarkBad<'_> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        let Self { fitted, inverse_scales, limit, has_missing, states, products } = self;
        let (mut bad, mut start) = (0u64, 0);
        let mut buffer = [0.0f64; TILE];
        products.fill(0.0);
        while start < states.len() {
            let end = (start + TILE).min(states.len());
            let tile = &mut buffer[..end - start];
            subtract_fitted(fitted, start, tile);
            let (states, scales) = (&mut states[start..end], &inverse_scales[start..end]);
            // Loops of one kind of number each, which become vector instructions.
            if has_missing {
                for ((z, s), state) in tile.iter().zip(scales).zip(&mut *states) {
                    if *state != CellState::Missing {
                        *state = if z.abs() * s > limit { CellState::Bad } else { CellState::Usable };
                    }
                }
            } else {
                for ((z, s), state) in tile.iter().zip(scales).zip(&mut *states) {
                    *state = if z.abs() * s > limit { CellState::Bad } else { CellState::Usable };
                }
            }
            for state in &*states {
                bad += u64::from(*state == CellState::Bad);
            }
            for ((z, x), state) in tile.iter_mut().zip(&fitted.row[start..end]).zip(&*states) {
                *z = if *state == CellState::Usable { *x } else { 0.0 };
            }
            let mut k = 0;
            while k + TOGETHER <= products.len() {
                let others: [&[f64]; TOGETHER] = std::array::from_fn(|i| &fitted.components.row(k + i)[start..end]);
                let found = dots(tile, others);
                for i in 0..TOGETHER {
                    products[k + i] += found[i];
                }
                k += TOGETHER;
            }
            while k < products.len() {
                products[k] += dots(tile, [&fitted.components.row(k)[start..end]])[0];
                k += 1;
            }
            start = end;
        }
        bad as usize
    }
}

struct OuterProducts<'a> {
    columns: &'a Matrix,
    rows: &'a [u32],
    stride: usize,
    sums: &'a mut [f64],
}

impl WithSimd for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let mut padded = vec![0.0; self.stride];
        for &row in self.rows {
            let q = self.columns.row(row as usize);
            padded[..q.len()].copy_from_slice(q);
            for (a, sums) in self.sums.chunks_exact_mut(self.stride).enumerate() {
                add_multiples(sums, [q[a]], [&padded]);
            }
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

    #[test]
    fn products_and_residuals_are_those_of_plain_loops() {
        for length in [1, 7, 8, 9, 16, 33] {
            let row: Vec<f64> = (0..length).map(|j| ((j * 37 % 11) as f64) - 5.0).collect();
            let components =
                Matrix::from_vec(2, length, (0..2 * length).map(|j| ((j * 13 % 7) as f64) - 3.0).collect());
            let mut scores = [0.0; 2];
            row_products(&row, &components, &mut scores);
            for (k, score) in scores.iter().enumerate() {
                let plain: f64 = row.iter().zip(components.row(k)).map(|(x, q)| x * q).sum();
                assert_eq!(*score, plain, "sums of integers are exact");
            }
            let fitted = Fitted { row: &row, scores: &[1.0, -2.0], components: &components };
            let mut out = vec![0.0; length];
            let square = residuals(fitted, None, &mut out);
            let inverse_scales = vec![2.0; length];
            let plain: Vec<f64> = (0..length).map(|j| row[j] - components[(0, j)] + 2.0 * components[(1, j)]).collect();
            assert_eq!(out, plain);
            assert_eq!(square, plain.iter().map(|x| x * x).sum::<f64>());
            let (_, largest) = standardized_residuals(fitted, None, &inverse_scales, &mut out);
            assert_eq!(largest, plain.iter().fold(0.0, |m: f64, x| m.max(x.abs() * 2.0)));
            assert!(out.iter().zip(&plain).all(|(a, b)| *a == b.abs() * 2.0));
            assert_eq!(count_up_to(&out, 8.0), plain.iter().filter(|x| x.abs() <= 4.0).count());
        }
    }

    #[test]
    fn bad_cells_are_marked_and_take_no_part_in_the_products() {
        for length in [5, 1023, 1024, 1025, 2100] {
            let row: Vec<f64> = (0..length).map(|j| ((j * 37 % 23) as f64) - 11.0).collect();
            let components =
                Matrix::from_vec(5, length, (0..5 * length).map(|j| ((j * 13 % 7) as f64) - 3.0).collect());
            let fitted = Fitted { row: &row, scores: &[0.0; 5], components: &components };
            let before: Vec<CellState> =
                (0..length).map(|j| if j % 4 == 3 { CellState::Missing } else { CellState::Bad }).collect();
            let (mut states, mut products) = (before.clone(), [9.0; 5]);
            let bad = mark_bad(fitted, &vec![0.5; length], (4.0, true), &mut states, &mut products);
            for (j, state) in states.iter().enumerate() {
                let expected = match before[j] {
                    CellState::Missing => CellState::Missing,
                    _ if row[j].abs() > 8.0 => CellState::Bad,
                    _ => CellState::Usable,
                };
                assert_eq!(*state, expected);
            }
            assert_eq!(bad, states.iter().filter(|state| **state == CellState::Bad).count());
            for (k, product) in products.iter().enumerate() {
                let used = (0..length).filter(|&j| states[j] == CellState::Usable);
                assert_eq!(*product, used.map(|j| row[j] * components[(k, j)]).sum::<f64>());
            }
        }
    }

    #[test]
    fn sums_of_outer_products_are_those_of_plain_loops() {
        for d in [1, 3, 8, 11] {
            let columns = Matrix::from_vec(9, d, (0..9 * d).map(|j| ((j * 13 % 7) as f64) - 3.0).collect());
            let rows = [0, 4, 8];
            let sums = sum_of_outer_products(&columns, &rows);
            for (place, sum) in sums.iter().enumerate() {
                let plain = rows.map(|j| columns[(j as usize, place / d)] * columns[(j as usize, place % d)]);
                assert_eq!(*sum, plain.iter().sum::<f64>());
            }
            assert_eq!(sums.len(), d * d);
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
