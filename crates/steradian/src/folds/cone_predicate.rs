//! The cone predicate: true if two samples are within each other's cone, independent of rounding errors.
//!
//! | paper | here |
//! |---|---|
//! | cos eta | `threshold` |
//!
//! Cosines are first computed in f32; a pair that differs from the threshold by more than [`single_error`] is decided.
//! The others are computed in f64, and a pair that is still within [`EXACT_RECHECK_MARGIN`] of the threshold is decided
//! by [`exact_cosine`], so that decisions do not depend on the order of summation.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use super::gram::products;
use crate::codec::inconsistent;
use crate::config::screen::Cosine;
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::error::Result;
use crate::kernel::cosine_counts::{self, Bounds};
use crate::kernel::fused::SplitCenter;
use crate::kernel::panel;
use crate::numeric::linalg::Matrix;

/// Distance from the threshold below which an f64 cosine is computed again in twice that precision.
const EXACT_RECHECK_MARGIN: f64 = 1e-9;
/// If more than one in this many pairs of a tile is undecided, the whole tile is computed in f64.
const MANY_UNDECIDED: usize = 64;

/// The largest error of an f32 cosine: a sum over a panel rounds once per term, the sum of panels once per panel, and
/// directions a few times; all relative to the sum of magnitudes, which is at most 1.
fn single_error(features: usize) -> f64 {
    let roundings = features.min(panel::COLUMNS) + features.div_ceil(panel::COLUMNS) + 16;
    1.01 * roundings as f64 * 0.5 * f64::from(f32::EPSILON)
}

/// Centered samples, and the cosine from which on two of them are within each other's cone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConePredicate<'a> {
    directions: WeightedRows<'a>,
    split: SplitCenter<f32>,
    cosine: Cosine,
    threshold: f64,
}

impl<'a> ConePredicate<'a> {
    /// The predicate that a cosine is at least `threshold`.
    pub fn new(directions: WeightedRows<'a>, cosine: Cosine, threshold: f64) -> Self {
        Self { split: SplitCenter::new(directions.center()), directions, cosine, threshold }
    }

    /// Rejects a predicate that does not agree with the data, as in [`Fold::check`](crate::engine::fold::Fold::check).
    pub(crate) fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.directions.check(shape, samples)?;
        if !self.split.has(shape.features) || self.threshold.is_nan() {
            return Err(inconsistent(format!("its cone is not one of {} features", shape.features)));
        }
        Ok(())
    }

    pub(crate) fn directions(&self) -> &WeightedRows<'a> {
        &self.directions
    }

    /// The angle of a cosine, in radians: between directions, or between lines for [`Cosine::Abs`].
    pub(crate) fn angle_of(&self, cosine: f64) -> f64 {
        let folded = if self.cosine == Cosine::Abs { cosine.abs() } else { cosine };
        folded.clamp(-1.0, 1.0).acos()
    }

    /// The half-angle of the cone, eta, in radians.
    pub(crate) fn angle(&self) -> f64 {
        self.threshold.clamp(-1.0, 1.0).acos()
    }

    /// The bounds that decide a cosine in f32.
    pub(crate) fn bounds(&self) -> Bounds {
        let features = self.directions.center().len();
        Bounds::new(self.threshold, single_error(features), self.cosine == Cosine::Abs)
    }

    /// Writes some columns of the directions of consecutive rows, in f32.
    pub(crate) fn write_directions(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        columns: Range<usize>,
        weights: &[f64],
        out: &mut [f32],
    ) {
        cosine_counts::directions(block, rows, columns, self.directions.center(), &self.split, weights, out);
    }

    /// True if a cosine is within the cone; `exact` is called if it is close to the threshold.
    pub(crate) fn near(&self, cosine: f64, exact: impl FnOnce() -> f64) -> bool {
        let folded = |c: f64| if self.cosine == Cosine::Abs { c.abs() } else { c };
        let rough = folded(cosine);
        if (rough - self.threshold).abs() > EXACT_RECHECK_MARGIN {
            rough >= self.threshold
        } else {
            folded(exact()) >= self.threshold
        }
    }
}

/// Cosines of the undecided pairs of a tile, in f64.
pub(crate) struct Doubles<'a, 'b> {
    center: &'a [f64],
    left: (&'a Block<'b>, &'a [f64]),
    right: (&'a Block<'b>, &'a [f64]),
    /// All cosines of the tile, if many are needed.
    tile: Option<Matrix>,
}

impl<'a, 'b> Doubles<'a, 'b> {
    pub(crate) fn new(
        rule: &'a ConePredicate<'_>,
        left: (&'a Block<'b>, &'a [f64]),
        right: (&'a Block<'b>, &'a [f64]),
        undecided: &[(usize, usize)],
    ) -> Self {
        let many = undecided.len() * MANY_UNDECIDED > left.0.rows() * right.0.rows();
        let tile = many.then(|| products(&rule.directions, left, right));
        Self { center: rule.directions.center(), left, right, tile }
    }

    pub(crate) fn cosine(&self, i: usize, j: usize) -> f64 {
        if let Some(tile) = &self.tile {
            return tile[(i, j)];
        }
        let row = |(block, weights): (&Block<'_>, &[f64]), i: usize| {
            let mut row = vec![0.0; block.columns()];
            panel::center(block, i..i + 1, 0..block.columns(), self.center, Some(&weights[i..=i]), &mut row);
            row
        };
        row(self.left, i).iter().zip(row(self.right, j)).map(|(x, y)| x * y).sum()
    }
}

/// The cosine between two centered samples, with sums in twice the precision of f64.
pub(crate) fn exact_cosine(a: (&Block<'_>, usize), b: (&Block<'_>, usize), center: &[f64]) -> f64 {
    let (x, y) = (scaled_row(a, center), scaled_row(b, center));
    (dot(&x, &y) / dot(&x, &x).sqrt() / dot(&y, &y).sqrt()).clamp(-1.0, 1.0)
}

/// A centered sample times a power of 2, so that its norm is close to 1: no overflow, and no rounding by the factor.
fn scaled_row((block, row): (&Block<'_>, usize), center: &[f64]) -> Vec<f64> {
    let norm = panel::norms(block, row..row + 1, center)[0].from_center;
    let scale = (-norm.log2().floor()).clamp(-1000.0, 1000.0).exp2();
    let mut sample = vec![0.0; center.len()];
    block.read_row(row, &mut sample);
    sample.iter_mut().zip(center).for_each(|(x, c)| *x = (*x - c) * scale);
    sample
}

/// A dot product with compensated summation (Ogita, Rump and Oishi 2005).
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (mut sum, mut error) = (0.0f64, 0.0f64);
    for (a, b) in x.iter().zip(y) {
        let product = a * b;
        let total = sum + product;
        let back = total - sum;
        error += a.mul_add(*b, -product) + ((sum - (total - back)) + (product - back));
        sum = total;
    }
    sum + error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_cosine_is_exact_where_sums_cancel() {
        // (2^60, 1, -2^60) . (1, 1, 1) = 1, which a naive sum may lose.
        let big = 2f64.powi(60);
        assert_eq!(dot(&[big, 1.0, -big], &[1.0, 1.0, 1.0]), 1.0);
        let data = [1e150, 0.0, 1e-150, 1e-150];
        let block = Block::of_values(&data, 2, 2).unwrap();
        let cosine = exact_cosine((&block, 0), (&block, 1), &[0.0, 0.0]);
        assert!((cosine - 0.5f64.sqrt()).abs() < 2e-16, "{cosine}");
    }
}
