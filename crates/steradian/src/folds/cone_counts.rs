//! Counts of samples within the cone around each sample: tau of the trimmed angular embedding, without an n x n matrix.
//!
//! | paper | here |
//! |---|---|
//! | cos eta | `threshold` |
//! | tau_i | n - `neighbors[i]` |
//!
//! The cosines of a tile are a product in f32; [`cosine_counts`] counts those that differ from the threshold by more
//! than their rounding error, and the [predicate](super::ConePredicate) classifies the others. Cost: one pair pass, n^2
//! D flops.

use std::ops::Range;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::cone_predicate::{ConePredicate, Doubles, exact_cosine};
use crate::codec::require_length;
use crate::data::block::Block;
use crate::engine::fold::PairFold;
use crate::error::Result;
use crate::kernel::{cosine_counts, panel};
use crate::memory;
use crate::numeric::linalg::add_outer_single;

/// Rows per tile: enough that their conversion is a small part of the work.
pub(crate) const CONE_TILE_ROWS: usize = 512;

/// The pair fold that counts the samples within each cone.
#[derive(Debug)]
pub struct ConeCounts<'a> {
    rule: ConePredicate<'a>,
    samples: usize,
    /// Weights of the rows of each tile, computed on first use.
    weights: Vec<OnceLock<Vec<f64>>>,
}

impl<'a> ConeCounts<'a> {
    /// Counts for this predicate, over this many samples.
    pub fn new(rule: ConePredicate<'a>, samples: usize) -> Self {
        let weights = (0..samples.div_ceil(CONE_TILE_ROWS)).map(|_| OnceLock::new()).collect();
        Self { rule, samples, weights }
    }

    fn weights_of(&self, block: &Block<'_>) -> Vec<f64> {
        let compute = || self.rule.directions().weights(block, 0..block.rows());
        let whole = block.rows() == CONE_TILE_ROWS.min(self.samples - block.first());
        if block.first().is_multiple_of(CONE_TILE_ROWS) && whole {
            return self.weights[block.first() / CONE_TILE_ROWS].get_or_init(compute).clone();
        }
        compute()
    }

    /// Cosines of all pairs in f32: left x right.
    fn cosines(&self, (left, a_weights): (&Block<'_>, &[f64]), (right, b_weights): (&Block<'_>, &[f64])) -> Vec<f32> {
        let mut tile = memory::filled(left.rows() * right.rows(), 0.0);
        let side = |block: &Block<'_>| memory::filled(block.rows() * panel::COLUMNS, 0.0);
        let (mut a, mut b) = (side(left), side(right));
        for columns in panel::panels(left.columns()) {
            let (a, b) = (&mut a[..left.rows() * columns.len()], &mut b[..right.rows() * columns.len()]);
            for (block, weights, out) in [(left, a_weights, &mut *a), (right, b_weights, &mut *b)] {
                self.rule.write_directions(block, 0..block.rows(), columns.clone(), weights, out);
            }
            add_outer_single(&mut tile, a, b, columns.len());
        }
        tile
    }
}

/// Counts within the cones: of all samples, or of one tile.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NeighborCounts {
    /// Number of samples within the cone around each sample, itself included; 0 for a sample without direction.
    pub neighbors: Vec<u32>,
    /// True for each active sample.
    pub active: Vec<bool>,
}

impl PairFold for ConeCounts<'_> {
    type Tile = (NeighborCounts, NeighborCounts);
    type Out = NeighborCounts;

    fn name(&self) -> &'static str {
        "cone"
    }

    fn empty(&self) -> NeighborCounts {
        NeighborCounts { neighbors: memory::filled(self.samples, 0), active: memory::filled(self.samples, false) }
    }

    fn check_out(&self, out: &NeighborCounts) -> Result<()> {
        require_length("the list of counts", out.neighbors.len(), self.samples)?;
        require_length("the mask of active samples", out.active.len(), self.samples)
    }

    fn compute_tile(&self, left: &Block<'_>, right: &Block<'_>) -> Result<Self::Tile> {
        let (left_weights, right_weights) = (self.weights_of(left), self.weights_of(right));
        let tile = self.cosines((left, &left_weights), (right, &right_weights));
        let active = |weights: &[f64]| weights.iter().map(|&w| w > 0.0).collect::<Vec<_>>();
        let none = |weights: &[f64]| NeighborCounts { neighbors: vec![0; weights.len()], active: active(weights) };
        let (mut a, mut b) = (none(&left_weights), none(&right_weights));
        let bounds = self.rule.bounds();
        let same = left.first() == right.first();
        // A row of a tile on the diagonal starts after the sample itself.
        let from = |i: usize| if same { i + 1 } else { 0 };
        let mut undecided = Vec::new();
        for (i, row) in tile.chunks_exact(right.rows()).enumerate().filter(|(i, _)| left_weights[*i] > 0.0) {
            let (inside, close) = cosine_counts::count(&row[from(i)..], bounds, &mut b.neighbors[from(i)..]);
            a.neighbors[i] += inside + u32::from(same);
            if close > 0 {
                let close = (from(i)..right.rows()).filter(|&j| bounds.undecided(row[j]) && right_weights[j] > 0.0);
                undecided.extend(close.map(|j| (i, j)));
            }
        }
        // A sample without direction has cosine 0 to all others; if that is within the cone, the count includes it
        // wrongly.
        if bounds.sure <= 0.0 {
            for (j, _) in right_weights.iter().enumerate().filter(|(_, w)| **w == 0.0) {
                let counted = (0..left.rows()).filter(|&i| left_weights[i] > 0.0 && from(i) <= j);
                counted.for_each(|i| a.neighbors[i] -= 1);
                b.neighbors[j] = 0;
            }
        }
        let doubles = Doubles::new(&self.rule, (left, &left_weights), (right, &right_weights), &undecided);
        for (i, j) in undecided {
            let exact = || exact_cosine((left, i), (right, j), self.rule.directions().center());
            if self.rule.near(doubles.cosine(i, j), exact) {
                a.neighbors[i] += 1;
                b.neighbors[j] += 1;
            }
        }
        Ok((a, b))
    }

    fn place(&self, out: &mut NeighborCounts, left: Range<usize>, right: Range<usize>, tile: Self::Tile) {
        for (rows, part) in [(left, tile.0), (right, tile.1)] {
            out.neighbors[rows.clone()].iter_mut().zip(part.neighbors).for_each(|(sum, count)| *sum += count);
            out.active[rows].copy_from_slice(&part.active);
        }
    }
}
