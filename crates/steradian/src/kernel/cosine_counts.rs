//! Directions in f32, and counts of their cosines above a threshold.
//!
//! Cosines are a product in f32. A cosine that differs from the threshold by more than its rounding error is counted
//! here; the others are reported as undecided, for a computation in f64. Cost: a few operations per pair.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::fused::SplitCenter;
use crate::data::block::{Block, Rows, each_element};
use crate::data::element::Element;

/// Writes w (x - mu) of some rows and columns, row by row.
///
/// u8 and u16 are converted in f32 with a mu of two parts; f32 and f64 are converted in f64, because they and their
/// weights may exceed the range of f32.
pub(crate) fn directions(
    block: &Block<'_>,
    rows: Range<usize>,
    columns: Range<usize>,
    center: &[f64],
    split: &SplitCenter<f32>,
    weights: &[f64],
    out: &mut [f32],
) {
    each_element!(block, data => {
        let data = data.select(rows.start, rows.len());
        typed_directions(&data, columns, center, split, weights, out);
    });
}

fn typed_directions<T: Element>(
    data: &Rows<'_, T>,
    columns: Range<usize>,
    center: &[f64],
    split: &SplitCenter<f32>,
    weights: &[f64],
    out: &mut [f32],
) {
    Arch::new().dispatch(ToDirections { data, columns, center, split, weights, out });
}

struct ToDirections<'a, T> {
    data: &'a Rows<'a, T>,
    columns: Range<usize>,
    center: &'a [f64],
    split: &'a SplitCenter<f32>,
    weights: &'a [f64],
    out: &'a mut [f32],
}

impl<T: Element> WithSimd for ToDirections<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.columns.len();
        let center = &self.center[self.columns.clone()];
        for ((row, weight), out) in (0..self.data.rows()).zip(self.weights).zip(self.out.chunks_exact_mut(width)) {
            if !T::TYPE.is_float() {
                crate::kernel::fused::convert(self.data, row, self.columns.clone(), self.split, out);
                let weight = *weight as f32;
                out.iter_mut().for_each(|x| *x *= weight);
                continue;
            }
            match self.data.row(row, self.columns.start, self.columns.end) {
                Some(row) => {
                    let values = out.iter_mut().zip(row).zip(center);
                    values.for_each(|((o, x), c)| *o = ((x.widen() - c) * weight) as f32);
                }
                None => {
                    for ((o, j), c) in out.iter_mut().zip(self.columns.clone()).zip(center) {
                        *o = ((self.data.get(row, j).widen() - c) * weight) as f32;
                    }
                }
            }
        }
    }
}

/// Bounds that classify an f32 cosine as inside the cone, outside, or undecided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Cosines from this value on are inside.
    pub sure: f32,
    /// Cosines below this value are outside.
    pub possible: f32,
    /// True if the absolute cosine counts.
    pub absolute: bool,
}

impl Bounds {
    /// Bounds for a threshold and the largest error of a cosine.
    pub(crate) fn new(threshold: f64, error: f64, absolute: bool) -> Self {
        let (sure, possible) = ((threshold + error) as f32, (threshold - error) as f32);
        Self { sure: sure.next_up(), possible: possible.next_down(), absolute }
    }

    /// True if the cosine must be computed in f64.
    pub(crate) fn undecided(&self, cosine: f32) -> bool {
        let cosine = if self.absolute { cosine.abs() } else { cosine };
        cosine >= self.possible && cosine < self.sure
    }
}

/// Counts the cosines of one row that are inside: adds them to `columns`, and returns their number and that of the
/// undecided ones.
pub(crate) fn count(cosines: &[f32], bounds: Bounds, columns: &mut [u32]) -> (u32, u32) {
    Arch::new().dispatch(CountInside { cosines, bounds, columns })
}

struct CountInside<'a> {
    cosines: &'a [f32],
    bounds: Bounds,
    columns: &'a mut [u32],
}

impl WithSimd for CountInside<'_> {
    type Output = (u32, u32);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (u32, u32) {
        let Bounds { sure, possible, absolute } = self.bounds;
        // Clears the sign bit or nothing, so that the loop has no branch.
        let mask = if absolute { 0x7FFF_FFFF } else { u32::MAX };
        let (mut inside, mut inside_or_undecided) = (0u32, 0u32);
        for (cosine, column) in self.cosines.iter().zip(self.columns) {
            let cosine = f32::from_bits(cosine.to_bits() & mask);
            let is_sure = u32::from(cosine >= sure);
            *column += is_sure;
            inside += is_sure;
            inside_or_undecided += u32::from(cosine >= possible);
        }
        (inside, inside_or_undecided - inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(i: usize) -> f64 {
        ((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1u64 << 24) as f64
    }

    fn check<T: Element>(rows: usize, features: usize, data: &[T]) {
        let contiguous = Rows::contiguous(data, rows, features).unwrap();
        let transposed: Vec<T> = (0..rows * features).map(|i| data[(i % rows) * features + i / rows]).collect();
        let strided = Rows::strided(&transposed, 0, rows, features, 1, rows as isize).unwrap();
        let center: Vec<f64> = (0..features).map(|k| 100.0 + 7.0 * uniform(k)).collect();
        let weights: Vec<f64> = (0..rows).map(|i| if i % 4 == 1 { 0.0 } else { uniform(i) }).collect();
        let split = SplitCenter::new(&center);
        for data in [contiguous, strided] {
            for columns in [0..features, features / 2..features] {
                let mut out = vec![9.0f32; rows * columns.len()];
                if columns.is_empty() {
                    continue;
                }
                typed_directions(&data, columns.clone(), &center, &split, &weights, &mut out);
                for (i, row) in out.chunks(columns.len()).enumerate() {
                    for (k, found) in columns.clone().zip(row) {
                        let expected = (data.get(i, k).widen() - center[k]) * weights[i];
                        assert!(
                            (f64::from(*found) - expected).abs() <= 3e-7 * expected.abs() + 1e-12,
                            "{found} {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn directions_equal_the_reference() {
        for (rows, features) in [(0, 4), (1, 1), (1, 0), (6, 8), (7, 16), (16, 60), (60, 256), (3, 513)] {
            let bytes: Vec<u8> = (0..rows * features).map(|i| (255.0 * uniform(i)) as u8).collect();
            check(rows, features, &bytes);
            check(rows, features, &bytes.iter().map(|&b| u16::from(b)).collect::<Vec<_>>());
            check(rows, features, &bytes.iter().map(|&b| f32::from(b) + 0.25).collect::<Vec<_>>());
            check(rows, features, &bytes.iter().map(|&b| f64::from(b) + 0.1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn counts_equal_the_reference() {
        for length in [0, 1, 6, 8, 16, 60, 256, 512, 513] {
            let cosines: Vec<f32> = (0..length).map(|i| (2.0 * uniform(i) - 1.0) as f32).collect();
            for absolute in [false, true] {
                for (threshold, error) in [(0.5, 0.0), (0.5, 0.1), (0.0, 1e-5), (-1e-16, 1e-5), (1.0, 1e-3)] {
                    let bounds = Bounds::new(threshold, error, absolute);
                    let mut columns = vec![1; length];
                    let (inside, undecided) = count(&cosines, bounds, &mut columns);
                    let value = |c: f32| if absolute { c.abs() } else { c };
                    let sure = |c: f32| value(c) >= bounds.sure;
                    assert_eq!(inside as usize, cosines.iter().filter(|&&c| sure(c)).count());
                    assert_eq!(undecided as usize, cosines.iter().filter(|&&c| bounds.undecided(c)).count());
                    assert!(cosines.iter().zip(&columns).all(|(&c, &n)| n == 1 + u32::from(sure(c))));
                    // Decided cosines are correct for any error within the bound.
                    for &c in cosines.iter().filter(|&&c| !bounds.undecided(c)) {
                        let v = f64::from(value(c));
                        assert!(if sure(c) { v - error >= threshold } else { v + error < threshold });
                    }
                }
            }
        }
    }
}
