//! How many samples lie within a cone around each sample: tau of the trimmed angular embedding, without an n x n matrix.
//!
//! | paper | here |
//! |---|---|
//! | cos eta | `threshold` |
//! | tau_i | n - `neighbours[i]` |
//!
//! A pair whose cosine lies within [`NEAR`] of the threshold is decided by [`exact_cosine`], so that counts do not
//! depend on the order of summation. Cost: one pair pass, n^2 D flops.

use std::ops::Range;

use super::Directions;
use super::gram::products;
use crate::block::{Block, each_element};
use crate::config::Cosine;
use crate::element::Element;
use crate::error::Result;
use crate::kernel::panel;
use crate::pass::PairFold;

/// Cosines this close to the threshold are decided in twice the working precision.
const NEAR: f64 = 1e-9;

/// Counts neighbours by tiles.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours<'a> {
    directions: Directions<'a>,
    samples: usize,
    cosine: Cosine,
    threshold: f64,
}

impl<'a> Neighbours<'a> {
    /// Samples whose cosine is at least `threshold` are neighbours.
    pub fn new(directions: Directions<'a>, samples: usize, cosine: Cosine, threshold: f64) -> Self {
        Self { directions, samples, cosine, threshold }
    }
}

/// The answer, and what one tile adds to it.
#[derive(Debug, Clone)]
pub struct NeighbourCounts {
    /// Samples within the cone around each sample, itself included; 0 for a sample without direction.
    pub neighbours: Vec<u32>,
    /// Whether each sample has a direction.
    pub speaks: Vec<bool>,
}

impl PairFold for Neighbours<'_> {
    type Tile = (NeighbourCounts, NeighbourCounts);
    type Out = NeighbourCounts;

    fn name(&self) -> &'static str {
        "cone"
    }

    fn empty(&self) -> NeighbourCounts {
        NeighbourCounts { neighbours: vec![0; self.samples], speaks: vec![false; self.samples] }
    }

    fn meet(&self, left: &Block<'_>, right: &Block<'_>) -> Result<Self::Tile> {
        let weights = |block: &Block<'_>| self.directions.weights(block, 0..block.rows());
        let (left_weights, right_weights) = (weights(left), weights(right));
        let tile = products(&self.directions, (left, &left_weights), (right, &right_weights));
        let speaks = |weights: &[f64]| weights.iter().map(|&w| w > 0.0).collect::<Vec<_>>();
        let none = |weights: &[f64]| NeighbourCounts { neighbours: vec![0; weights.len()], speaks: speaks(weights) };
        let (mut a, mut b) = (none(&left_weights), none(&right_weights));
        let same = left.first() == right.first();
        for i in (0..left.rows()).filter(|&i| left_weights[i] > 0.0) {
            for j in (if same { i } else { 0 }..right.rows()).filter(|&j| right_weights[j] > 0.0) {
                let itself = same && i == j;
                if itself || self.near(tile[(i, j)], || exact_cosine((left, i), (right, j), self.directions.center())) {
                    a.neighbours[i] += 1;
                    b.neighbours[j] += u32::from(!itself);
                }
            }
        }
        Ok((a, b))
    }

    fn place(&self, out: &mut NeighbourCounts, left: Range<usize>, right: Range<usize>, tile: Self::Tile) {
        for (rows, part) in [(left, tile.0), (right, tile.1)] {
            out.neighbours[rows.clone()].iter_mut().zip(part.neighbours).for_each(|(sum, count)| *sum += count);
            out.speaks[rows].copy_from_slice(&part.speaks);
        }
    }
}

impl Neighbours<'_> {
    /// Whether a cosine lies within the cone; `exact` decides close calls.
    pub(crate) fn near(&self, cosine: f64, exact: impl FnOnce() -> f64) -> bool {
        let folded = |c: f64| if self.cosine == Cosine::Abs { c.abs() } else { c };
        let rough = folded(cosine);
        if (rough - self.threshold).abs() > NEAR { rough >= self.threshold } else { folded(exact()) >= self.threshold }
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
    each_element!(block, data => center.iter().enumerate().map(|(j, c)| (data.get(row, j).widen() - c) * scale).collect())
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
    use crate::block::{BlockData, Rows};

    #[test]
    fn the_exact_cosine_is_exact_where_sums_cancel() {
        // (1, 2^60, -2^60) . (1, 1, 1) = 1, which a plain sum may lose.
        let big = 2f64.powi(60);
        assert_eq!(dot(&[big, 1.0, -big], &[1.0, 1.0, 1.0]), 1.0);
        let data = [1e150, 0.0, 1e-150, 1e-150];
        let block = Block::new(0, BlockData::F64(Rows::contiguous(&data, 2, 2).unwrap()));
        let cosine = exact_cosine((&block, 0), (&block, 1), &[0.0, 0.0]);
        assert!((cosine - 0.5f64.sqrt()).abs() < 2e-16, "{cosine}");
    }
}
