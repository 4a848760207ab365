//! The rule of a cone: whether two samples lie within it of each other, decided without rounding errors.
//!
//! | paper | here |
//! |---|---|
//! | cos eta | `threshold` |
//!
//! GramMatrix come from products in single precision, and whoever clears the threshold by more than [`single_error`] is
//! decided. The others are computed in double precision, and a pair that is still within [`NEAR`] of the threshold is
//! decided by [`exact_cosine`], so that decisions do not depend on the order of summation.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use super::gram::products;
use crate::config::screen::Cosine;
use crate::data::block::Block;
use crate::kernel::cosine_counts::{self, Bounds};
use crate::kernel::fused::SplitCenter;
use crate::kernel::panel;
use crate::numeric::linalg::Matrix;

/// GramMatrix this close to the threshold are decided in twice the working precision.
const NEAR: f64 = 1e-9;
/// Where more than one in this many pairs of a tile is undecided, the whole tile is computed in double precision.
const MANY_UNDECIDED: usize = 64;

/// The largest error of a cosine in single precision: a sum over a panel rounds each of its terms once, sums of panels
/// once a panel, directions a few times; all relative to the sum of magnitudes, which is at most 1.
fn single_error(features: usize) -> f64 {
    let roundings = features.min(panel::COLUMNS) + features.div_ceil(panel::COLUMNS) + 16;
    1.01 * roundings as f64 * 0.5 * f64::from(f32::EPSILON)
}

/// Samples seen from a center, and how near they must be to be within each other's cone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConePredicate<'a> {
    directions: WeightedRows<'a>,
    split: SplitCenter<f32>,
    cosine: Cosine,
    threshold: f64,
}

impl<'a> ConePredicate<'a> {
    /// Samples whose cosine is at least `threshold` are within the cone.
    pub fn new(directions: WeightedRows<'a>, cosine: Cosine, threshold: f64) -> Self {
        Self { split: SplitCenter::new(directions.center()), directions, cosine, threshold }
    }

    pub(crate) fn directions(&self) -> &WeightedRows<'a> {
        &self.directions
    }

    /// The angle of a cosine, in radians: between directions, or between lines where opposites are the same.
    pub(crate) fn angle_of(&self, cosine: f64) -> f64 {
        let folded = if self.cosine == Cosine::Abs { cosine.abs() } else { cosine };
        folded.clamp(-1.0, 1.0).acos()
    }

    /// The half-angle of the cone, eta, in radians.
    pub(crate) fn angle(&self) -> f64 {
        self.threshold.clamp(-1.0, 1.0).acos()
    }

    /// What a cosine in single precision decides.
    pub(crate) fn bounds(&self) -> Bounds {
        let features = self.directions.center().len();
        Bounds::new(self.threshold, single_error(features), self.cosine == Cosine::Abs)
    }

    /// Unit directions of some consecutive rows in single precision, in some columns.
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

    /// Whether a cosine lies within the cone; `exact` decides close calls.
    pub(crate) fn near(&self, cosine: f64, exact: impl FnOnce() -> f64) -> bool {
        let folded = |c: f64| if self.cosine == Cosine::Abs { c.abs() } else { c };
        let rough = folded(cosine);
        if (rough - self.threshold).abs() > NEAR { rough >= self.threshold } else { folded(exact()) >= self.threshold }
    }
}

/// GramMatrix of the undecided pairs of a tile in double precision.
pub(crate) struct Doubles<'a, 'b> {
    center: &'a [f64],
    left: (&'a Block<'b>, &'a [f64]),
    right: (&'a Block<'b>, &'a [f64]),
    /// All of them at once, where many are needed.
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

/// The cosine between two samples seen from the center, with sums in twice the working precision.
pub(crate) fn exact_cosine(a: (&Block<'_>, usize), b: (&Block<'_>, usize), center: &[f64]) -> f64 {
    let (x, y) = (scaled_row(a, center), scaled_row(b, center));
    (dot(&x, &y) / dot(&x, &x).sqrt() / dot(&y, &y).sqrt()).clamp(-1.0, 1.0)
}

/// A sample minus the center, times a power of two that brings it near length 1: no rounding, no overflow.
fn scaled_row((block, row): (&Block<'_>, usize), center: &[f64]) -> Vec<f64> {
    let length = panel::lengths(block, row..row + 1, center)[0].from_center;
    let scale = (-length.log2().floor()).clamp(-1000.0, 1000.0).exp2();
    let mut sample = vec![0.0; center.len()];
    block.read_row(row, &mut sample);
    sample.iter_mut().zip(center).for_each(|(x, c)| *x = (*x - c) * scale);
    sample
}

/// A dot product whose every rounding error is summed too (Ogita, Rump and Oishi 2005).
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
        // (1, 2^60, -2^60) . (1, 1, 1) = 1, which a plain sum may lose.
        let big = 2f64.powi(60);
        assert_eq!(dot(&[big, 1.0, -big], &[1.0, 1.0, 1.0]), 1.0);
        let data = [1e150, 0.0, 1e-150, 1e-150];
        let block = Block::of_values(&data, 2, 2).unwrap();
        let cosine = exact_cosine((&block, 0), (&block, 1), &[0.0, 0.0]);
        assert!((cosine - 0.5f64.sqrt()).abs() < 2e-16, "{cosine}");
    }
}
