//! How many samples lie within a cone around each sample: tau of the trimmed angular embedding, without an n x n matrix.
//!
//! | paper | here |
//! |---|---|
//! | cos eta | `threshold` |
//! | tau_i | n - `neighbours[i]` |
//!
//! Cosines of a tile come from a product in single precision; [`kernel::cone`](crate::kernel::cone) counts those that
//! clear the threshold by more than [`single_error`]. The others are computed in double precision, and a pair that is
//! still within [`NEAR`] of the threshold is decided by [`exact_cosine`], so that counts do not depend on the order of
//! summation. Cost: one pair pass, n^2 D flops.

use std::ops::Range;
use std::sync::OnceLock;

use super::Directions;
use super::gram::products;
use crate::block::{Block, each_element};
use crate::config::Cosine;
use crate::element::Element;
use crate::error::Result;
use crate::kernel::cone::{self, Bounds};
use crate::kernel::fused::Center;
use crate::kernel::panel;
use crate::linalg::{Matrix, add_outer_single};
use crate::pass::PairFold;

/// Rows of a tile: converting them is then a small part of the work.
pub(crate) const CONE_TILE_ROWS: usize = 512;
/// Cosines this close to the threshold are decided in twice the working precision.
const NEAR: f64 = 1e-9;
/// Where more than one in this many pairs of a tile is undecided, the whole tile is computed in double precision.
const MANY_UNDECIDED: usize = 64;

/// The largest error of a cosine in single precision: a sum over a panel rounds each of its terms once, sums of panels
/// once a panel, directions a few times; all relative to the sum of magnitudes, which is at most 1.
fn single_error(features: usize) -> f64 {
    let roundings = features.min(panel::COLUMNS) + features.div_ceil(panel::COLUMNS) + 16;
    1.01 * roundings as f64 * 0.5 * f64::from(f32::EPSILON)
}

/// Counts neighbours by tiles.
#[derive(Debug)]
pub struct Neighbours<'a> {
    directions: Directions<'a>,
    split: Center<f32>,
    samples: usize,
    cosine: Cosine,
    threshold: f64,
    /// Weights of the rows of each tile, measured when the tile is first met.
    weights: Vec<OnceLock<Vec<f64>>>,
}

impl<'a> Neighbours<'a> {
    /// Samples whose cosine is at least `threshold` are neighbours.
    pub fn new(directions: Directions<'a>, samples: usize, cosine: Cosine, threshold: f64) -> Self {
        let weights = (0..samples.div_ceil(CONE_TILE_ROWS)).map(|_| OnceLock::new()).collect();
        Self { directions, split: Center::new(directions.center()), samples, cosine, threshold, weights }
    }

    fn weights_of(&self, block: &Block<'_>) -> Vec<f64> {
        let measured = || self.directions.weights(block, 0..block.rows());
        let whole = block.rows() == CONE_TILE_ROWS.min(self.samples - block.first());
        if block.first().is_multiple_of(CONE_TILE_ROWS) && whole {
            return self.weights[block.first() / CONE_TILE_ROWS].get_or_init(measured).clone();
        }
        measured()
    }

    /// Cosines of all pairs in single precision: left x right.
    fn cosines(&self, (left, a_weights): (&Block<'_>, &[f64]), (right, b_weights): (&Block<'_>, &[f64])) -> Vec<f32> {
        let mut tile = vec![0.0; left.rows() * right.rows()];
        let (mut a, mut b) = (vec![0.0; left.rows() * panel::COLUMNS], vec![0.0; right.rows() * panel::COLUMNS]);
        for columns in panel::panels(left.columns()) {
            let (a, b) = (&mut a[..left.rows() * columns.len()], &mut b[..right.rows() * columns.len()]);
            for (block, weights, out) in [(left, a_weights, &mut *a), (right, b_weights, &mut *b)] {
                let center = self.directions.center();
                each_element!(block, data => {
                    cone::directions(&data, columns.clone(), center, &self.split, weights, out);
                });
            }
            add_outer_single(&mut tile, a, b, columns.len());
        }
        tile
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
        let (left_weights, right_weights) = (self.weights_of(left), self.weights_of(right));
        let tile = self.cosines((left, &left_weights), (right, &right_weights));
        let speaks = |weights: &[f64]| weights.iter().map(|&w| w > 0.0).collect::<Vec<_>>();
        let none = |weights: &[f64]| NeighbourCounts { neighbours: vec![0; weights.len()], speaks: speaks(weights) };
        let (mut a, mut b) = (none(&left_weights), none(&right_weights));
        let bounds = Bounds::new(self.threshold, single_error(left.columns()), self.cosine == Cosine::Abs);
        let same = left.first() == right.first();
        // A row of a tile on the diagonal begins behind the sample itself.
        let from = |i: usize| if same { i + 1 } else { 0 };
        let mut undecided = Vec::new();
        for (i, row) in tile.chunks_exact(right.rows()).enumerate().filter(|(i, _)| left_weights[*i] > 0.0) {
            let (inside, close) = cone::count(&row[from(i)..], bounds, &mut b.neighbours[from(i)..]);
            a.neighbours[i] += inside + u32::from(same);
            if close > 0 {
                let close = (from(i)..right.rows()).filter(|&j| bounds.undecided(row[j]) && right_weights[j] > 0.0);
                undecided.extend(close.map(|j| (i, j)));
            }
        }
        // One without direction has a cosine of 0 to all; where that is inside, it was counted and must not be.
        if bounds.sure <= 0.0 {
            for (j, _) in right_weights.iter().enumerate().filter(|(_, w)| **w == 0.0) {
                let counted = (0..left.rows()).filter(|&i| left_weights[i] > 0.0 && from(i) <= j);
                counted.for_each(|i| a.neighbours[i] -= 1);
                b.neighbours[j] = 0;
            }
        }
        let doubles = Doubles::new(self, (left, &left_weights), (right, &right_weights), &undecided);
        for (i, j) in undecided {
            let exact = || exact_cosine((left, i), (right, j), self.directions.center());
            if self.near(doubles.cosine(i, j), exact) {
                a.neighbours[i] += 1;
                b.neighbours[j] += 1;
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

/// Cosines of the undecided pairs of a tile in double precision.
struct Doubles<'a, 'b> {
    center: &'a [f64],
    left: (&'a Block<'b>, &'a [f64]),
    right: (&'a Block<'b>, &'a [f64]),
    /// All of them at once, where many are needed.
    tile: Option<Matrix>,
}

impl<'a, 'b> Doubles<'a, 'b> {
    fn new(
        rule: &'a Neighbours<'_>,
        left: (&'a Block<'b>, &'a [f64]),
        right: (&'a Block<'b>, &'a [f64]),
        undecided: &[(usize, usize)],
    ) -> Self {
        let many = undecided.len() * MANY_UNDECIDED > left.0.rows() * right.0.rows();
        let tile = many.then(|| products(&rule.directions, left, right));
        Self { center: rule.directions.center(), left, right, tile }
    }

    fn cosine(&self, i: usize, j: usize) -> f64 {
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
