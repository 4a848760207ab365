//! The two products of an operator pass: Y = (X - mu) W, with squared norms of X - mu, and Z += (X - mu)' Y.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | X | rows of a block, in their element type | r x D |
//! | mu | `SplitCenter`: a high and a low part, so that a large offset loses no digits | D |
//! | W, Z | row-major, L columns | D x L |
//!
//! A few rows by [`PANEL`] columns are centered and converted into the L1 cache, and multiplied there by a panel of W;
//! R rows by P vectors of partial sums stay in registers. Sums over a panel are in the working precision (f32 for u8,
//! u16 and f32 data, unless f64 is requested), sums of panels in f64. Converting twice is cheaper than storing X - mu
//! for Z. Cost: 2 r D L flops each.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::prefetch;
use super::simd::{Real, dispatch_within};
use crate::codec::packed;
use crate::data::block::Rows;
use crate::data::element::Element;
use crate::memory::CollectReserved;

/// Columns of X per panel of W: with the converted rows it fits into the L1 cache.
const PANEL: usize = 512;
/// Rows summed in registers per update of Z.
const ROWS: usize = 64;
/// Columns of X converted at a time for Z.
const STRIP: usize = 384;
/// Values from one converted row to the next: padded so that the rows of a column do not share a few sets of the L1
/// cache.
const STRIP_STRIDE: usize = STRIP + 16;

/// A value at the start of a cache line: access to a vector that crosses a cache line costs twice.
#[repr(align(64))]
struct Aligned<T>(T);

/// A center as the sum of two values of the working precision.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "F: Real")]
pub(crate) struct SplitCenter<F> {
    #[serde(with = "packed")]
    high: Vec<F>,
    /// Empty if mu equals the high part.
    #[serde(with = "packed")]
    low: Vec<F>,
}

impl<F: Real> SplitCenter<F> {
    pub(crate) fn new(center: &[f64]) -> Self {
        let high = center.iter().map(|&c| F::narrow(c)).collect_reserved();
        let mut low = center.iter().zip(&high).map(|(&c, h)| F::narrow(c - h.widen())).collect_reserved();
        if low.iter().all(|l| l.widen() == 0.0) {
            low.clear(); // saves one subtraction in f64, or if mu is exact in f32
        }
        Self { high, low }
    }

    /// True if the center has this many features.
    pub(crate) fn has(&self, features: usize) -> bool {
        self.high.len() == features && (self.low.is_empty() || self.low.len() == features)
    }
}

/// Writes x - mu for some columns of one row.
#[inline(always)]
pub(crate) fn convert<T: Element, F: Real>(
    data: &Rows<'_, T>,
    row: usize,
    columns: Range<usize>,
    center: &SplitCenter<F>,
    out: &mut [F],
) {
    let high = &center.high[columns.clone()];
    let out = &mut out[..columns.len()];
    let low = center.low.get(columns.clone());
    match (data.row(row, columns.start, columns.end), low) {
        (Some(row), Some(low)) => {
            for (((o, x), h), l) in out.iter_mut().zip(row).zip(high).zip(low) {
                *o = F::of(*x) - *h - *l;
            }
        }
        (Some(row), None) => out.iter_mut().zip(row).zip(high).for_each(|((o, x), h)| *o = F::of(*x) - *h),
        (None, low) => {
            for (place, (o, h)) in out.iter_mut().zip(high).enumerate() {
                let l = low.map_or(F::default(), |low| low[place]);
                *o = F::of(data.get(row, columns.start + place)) - *h - l;
            }
        }
    }
}

/// Y += (X - mu) W for some rows, and the squared norms of X - mu. `w` is D x width, `y` rows x width.
struct Project<'a, T, F> {
    data: &'a Rows<'a, T>,
    rows: Range<usize>,
    center: &'a SplitCenter<F>,
    w: &'a [F],
    width: usize,
    y: &'a mut [f64],
    squares: &'a mut [f64],
}

impl<T: Element, F: Real> WithSimd for Project<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Twelve accumulators hide the latency of a multiply-add, in either arrangement.
        if self.width == F::lanes::<S>() { self.tiles::<S, 12, 1>(simd) } else { self.tiles::<S, 6, 2>(simd) }
    }
}

impl<T: Element, F: Real> Project<'_, T, F> {
    #[inline(always)]
    fn tiles<S: Simd, const R: usize, const P: usize>(self, simd: S) {
        let (features, width, lanes) = (self.data.columns(), self.width, F::lanes::<S>());
        let Aligned(buffer) = &mut Aligned([[F::default(); PANEL]; R]);
        for start in (0..features).step_by(PANEL) {
            let columns = start..(start + PANEL).min(features);
            let w = &self.w[columns.start * width..columns.end * width];
            for first in self.rows.clone().step_by(R) {
                let count = R.min(self.rows.end - first);
                let local = first - self.rows.start;
                for (r, buffer) in buffer.iter_mut().enumerate().take(count) {
                    convert(self.data, first + r, columns.clone(), self.center, buffer);
                    prefetch::fetch(self.data, first + r + R, columns.clone());
                    self.squares[local + r] += sum_of_squares(simd, &buffer[..columns.len()]);
                }
                let x: [&[F]; R] = std::array::from_fn(|r| &buffer[r][..columns.len()]);
                for group in (0..width).step_by(P * lanes) {
                    let mut sums = [[F::splat(simd, F::default()); P]; R];
                    for (k, w) in (0..columns.len()).zip(w.chunks_exact(width)) {
                        let w: &[F::Vector<S>; P] = vectors_at::<F, S, P>(w, group);
                        for r in 0..R {
                            let x = F::splat(simd, x[r][k]);
                            for p in 0..P {
                                sums[r][p] = F::madd(simd, x, w[p], sums[r][p]);
                            }
                        }
                    }
                    for (sums, y) in sums.iter().zip(self.y[local * width..].chunks_exact_mut(width)).take(count) {
                        let sums: &[F] = pulp::bytemuck::cast_slice(sums);
                        y[group..].iter_mut().zip(sums).for_each(|(y, sum)| *y += sum.widen());
                    }
                }
            }
        }
    }
}

/// P vectors of a row, from column `from` on.
#[inline(always)]
fn vectors_at<F: Real, S: Simd, const P: usize>(row: &[F], from: usize) -> &[F::Vector<S>; P] {
    F::vectors::<S>(&row[from..from + P * F::lanes::<S>()]).try_into().expect("as many values as P vectors have")
}

#[inline(always)]
fn sum_of_squares<F: Real, S: Simd>(simd: S, values: &[F]) -> f64 {
    let vectors = F::vectors::<S>(values);
    let zero = F::splat(simd, F::default());
    let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
    let mut groups = vectors.chunks_exact(4);
    for x in &mut groups {
        a = F::madd(simd, x[0], x[0], a);
        b = F::madd(simd, x[1], x[1], b);
        c = F::madd(simd, x[2], x[2], c);
        d = F::madd(simd, x[3], x[3], d);
    }
    for x in groups.remainder() {
        a = F::madd(simd, *x, *x, a);
    }
    let sums = [a, b, c, d];
    let rest = &values[vectors.len() * F::lanes::<S>()..];
    let sums: &[F] = pulp::bytemuck::cast_slice(&sums);
    sums.iter().map(|x| x.widen()).sum::<f64>() + rest.iter().map(|x| x.widen().powi(2)).sum::<f64>()
}

/// Z += (X - mu)' Y for all rows and some columns. `y` is rows x width, `z` columns x width.
struct Outer<'a, T, F> {
    data: &'a Rows<'a, T>,
    columns: Range<usize>,
    center: &'a SplitCenter<F>,
    y: &'a [F],
    width: usize,
    z: &'a mut [f64],
}

impl<T: Element, F: Real> WithSimd for Outer<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.width == F::lanes::<S>() { self.tiles::<S, 12, 1>(simd) } else { self.tiles::<S, 6, 2>(simd) }
    }
}

impl<T: Element, F: Real> Outer<'_, T, F> {
    #[inline(always)]
    fn tiles<S: Simd, const C: usize, const P: usize>(self, simd: S) {
        const { assert!(STRIP.is_multiple_of(C)) };
        let (width, lanes) = (self.width, F::lanes::<S>());
        let Aligned(buffer) = &mut Aligned([[F::default(); STRIP_STRIDE]; ROWS]);
        for start in self.columns.clone().step_by(STRIP) {
            let columns = start..(start + STRIP).min(self.columns.end);
            for first in (0..self.data.rows()).step_by(ROWS) {
                let rows = first..(first + ROWS).min(self.data.rows());
                for (row, buffer) in rows.clone().zip(buffer.iter_mut()) {
                    convert(self.data, row, columns.clone(), self.center, buffer);
                    prefetch::fetch(self.data, row + ROWS, columns.clone());
                }
                let y = &self.y[rows.start * width..rows.end * width];
                for column in (0..columns.len()).step_by(C) {
                    for group in (0..width).step_by(P * lanes) {
                        let mut sums = [[F::splat(simd, F::default()); P]; C];
                        for (x, y) in buffer.iter().zip(y.chunks_exact(width)) {
                            let x: &[F; C] = x[column..column + C].try_into().expect("a tile within the strip");
                            let y: &[F::Vector<S>; P] = vectors_at::<F, S, P>(y, group);
                            for c in 0..C {
                                let x = F::splat(simd, x[c]);
                                for p in 0..P {
                                    sums[c][p] = F::madd(simd, x, y[p], sums[c][p]);
                                }
                            }
                        }
                        let z = &mut self.z[(columns.start - self.columns.start + column) * width..];
                        for (sums, z) in sums.iter().zip(z.chunks_exact_mut(width)).take(columns.len() - column) {
                            let sums: &[F] = pulp::bytemuck::cast_slice(sums);
                            z[group..].iter_mut().zip(sums).for_each(|(z, sum)| *z += sum.widen());
                        }
                    }
                }
            }
        }
    }
}

/// Widths L that the kernels support: multiples of the vector length of every CPU. Other widths are padded to the next
/// one.
pub(crate) const WIDTHS: [usize; 3] = [8, 16, 32];

/// The width that this many columns are padded to; more columns than the largest width are divided into pieces.
pub(crate) fn padded_width(columns: usize) -> usize {
    WIDTHS.into_iter().find(|&width| width >= columns).unwrap_or(WIDTHS[WIDTHS.len() - 1])
}

/// Y += (X - mu) W and squared norms, for a width of [`WIDTHS`].
pub(crate) fn project<T: Element, F: Real>(
    data: &Rows<'_, T>,
    rows: Range<usize>,
    center: &SplitCenter<F>,
    (w, width): (&[F], usize),
    y: &mut [f64],
    squares: &mut [f64],
) {
    dispatch_within::<F, _>(width, Project { data, rows, center, w, width, y, squares });
}

/// Z += (X - mu)' Y for all rows of the block and some columns, for a width of [`WIDTHS`].
pub(crate) fn outer<T: Element, F: Real>(
    data: &Rows<'_, T>,
    columns: Range<usize>,
    center: &SplitCenter<F>,
    (y, width): (&[F], usize),
    z: &mut [f64],
) {
    dispatch_within::<F, _>(width, Outer { data, columns, center, y, width, z });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementations: the definitions, in f64.
    fn reference_project<T: Element>(
        data: &Rows<'_, T>,
        center: &[f64],
        w: &[f64],
        width: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let z = |i: usize, k: usize| data.get(i, k).widen() - center[k];
        let y = (0..data.rows() * width)
            .map(|t| (0..data.columns()).map(|k| z(t / width, k) * w[k * width + t % width]).sum())
            .collect();
        let squares = (0..data.rows()).map(|i| (0..data.columns()).map(|k| z(i, k).powi(2)).sum()).collect();
        (y, squares)
    }

    fn reference_outer<T: Element>(data: &Rows<'_, T>, center: &[f64], y: &[f64], width: usize) -> Vec<f64> {
        (0..data.columns() * width)
            .map(|t| {
                let (k, c) = (t / width, t % width);
                (0..data.rows()).map(|i| (data.get(i, k).widen() - center[k]) * y[i * width + c]).sum()
            })
            .collect()
    }

    fn uniform(i: usize) -> f64 {
        ((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    }

    /// Vector lengths: that of this CPU, and shorter ones of others.
    #[derive(Clone, Copy)]
    enum Vectors {
        Own,
        EightLanes,
        None,
    }

    impl Vectors {
        const ALL: [Self; 3] = [Self::Own, Self::EightLanes, Self::None];

        fn run<F: Real, W: WithSimd>(self, width: usize, work: W) {
            match self {
                Self::Own => _ = dispatch_within::<F, _>(width, work),
                #[cfg(target_arch = "x86_64")]
                Self::EightLanes if pulp::x86::V3::try_new().is_some() => {
                    _ = Simd::vectorize(pulp::x86::V3::try_new().unwrap(), work);
                }
                _ => _ = Simd::vectorize(pulp::Scalar, work),
            }
        }
    }

    fn check<T: Element, F: Real>(rows: usize, features: usize, width: usize, data: &[T], tolerance: f64) {
        let contiguous = Rows::contiguous(data, rows, features).unwrap();
        let transposed: Vec<T> = (0..rows * features).map(|i| data[(i % rows) * features + i / rows]).collect();
        let strided = Rows::strided(&transposed, 0, rows, features, 1, rows as isize).unwrap();
        let center: Vec<f64> = (0..features).map(|k| 100.0 + 20.0 * uniform(k)).collect();
        let w: Vec<f64> = (0..features * width).map(uniform).collect();
        let working: Vec<F> = w.iter().map(|&x| F::narrow(x)).collect();
        let exact: Vec<f64> = working.iter().map(|x| x.widen()).collect();
        let (y_reference, squares_reference) = reference_project(&contiguous, &center, &exact, width);
        let coefficients: Vec<f64> = (0..rows * width).map(|i| F::narrow(uniform(i + 7)).widen()).collect();
        let z_reference = reference_outer(&contiguous, &center, &coefficients, width);
        let scale = 150.0 * (features.max(rows) as f64);
        for data in [contiguous, strided] {
            let center = SplitCenter::new(&center);
            for vectors in Vectors::ALL {
                let (mut y, mut squares) = (vec![0.0; rows * width], vec![0.0; rows]);
                let (w, into) = (&working[..], (&mut y[..], &mut squares[..]));
                vectors.run::<F, _>(
                    width,
                    Project { data: &data, rows: 0..rows, center: &center, w, width, y: into.0, squares: into.1 },
                );
                for (a, b) in y.iter().zip(&y_reference) {
                    assert!((a - b).abs() <= tolerance * scale, "project {rows} x {features}, {width} wide: {a} {b}");
                }
                for (a, b) in squares.iter().zip(&squares_reference) {
                    assert!((a - b).abs() <= tolerance * 150.0 * scale, "squares {a} {b}");
                }
                let y: Vec<F> = (0..rows * width).map(|i| F::narrow(uniform(i + 7))).collect();
                let mut z = vec![0.0; features * width];
                vectors.run::<F, _>(
                    width,
                    Outer { data: &data, columns: 0..features, center: &center, y: &y, width, z: &mut z },
                );
                for (a, b) in z.iter().zip(&z_reference) {
                    assert!((a - b).abs() <= tolerance * scale, "outer {rows} x {features}, {width} wide: {a} {b}");
                }
            }
        }
    }

    fn check_all(rows: usize, features: usize) {
        let bytes: Vec<u8> = (0..rows * features).map(|i| (200.0 * (uniform(i) + 0.5)) as u8).collect();
        let words: Vec<u16> = bytes.iter().map(|&b| u16::from(b)).collect();
        let single: Vec<f32> = (0..rows * features).map(|i| (200.0 * (uniform(i) + 0.5)) as f32).collect();
        let double: Vec<f64> = single.iter().map(|&x| f64::from(x) + 1e-9).collect();
        for width in WIDTHS {
            check::<u8, f32>(rows, features, width, &bytes, 1e-6);
            check::<u8, f64>(rows, features, width, &bytes, 1e-14);
            check::<u16, f32>(rows, features, width, &words, 1e-6);
            check::<f32, f32>(rows, features, width, &single, 1e-6);
            check::<f64, f64>(rows, features, width, &double, 1e-14);
        }
    }

    #[test]
    fn kernels_equal_the_reference_around_block_edges() {
        for (rows, features) in [(0, 5), (1, 1), (5, 0), (6, 47), (7, 48), (12, 49), (13, 255), (16, 256), (60, 257)] {
            check_all(rows, features);
        }
        for (rows, features) in [(127, 512), (128, 513), (129, 16), (256, 8), (257, 60), (3, 1025)] {
            check_all(rows, features);
        }
    }

    #[test]
    fn a_large_offset_loses_no_digits() {
        // Samples of scale 1 at 1e5 in f32: rounding mu alone would leave an error of 4e-3.
        let data: Vec<f32> = (0..40 * 64).map(|i| (1e5 + uniform(i)) as f32).collect();
        let rows = Rows::contiguous(&data, 40, 64).unwrap();
        let center = vec![1e5 + 0.003; 64];
        let w = vec![1.0f32; 64 * 8];
        let (mut y, mut squares) = (vec![0.0; 40 * 8], vec![0.0; 40]);
        project(&rows, 0..40, &SplitCenter::new(&center), (&w[..], 8), &mut y, &mut squares);
        let (reference, _) = reference_project(&rows, &center, &vec![1.0; 64 * 8], 8);
        for (a, b) in y.iter().zip(reference) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn kernels_equal_the_reference_anywhere(rows in 0usize..140, features in 0usize..300) {
            check_all(rows, features);
        }
    }
}
