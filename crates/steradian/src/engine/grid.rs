//! The grid: rows cut into cells and blocks, as a function of the shape and of the size of an accumulator.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Rows of a block: enough to feed a matrix product, few enough to stop within a fraction of a second.
const BLOCK_ROWS: usize = 256;
/// Above this many elements a block gets fewer rows.
const BLOCK_ELEMENTS: usize = 1 << 25;
/// A sum larger than this is not kept once per thread.
const LARGE_SUM_BYTES: usize = 1 << 20;
/// Cells at most when sums are small: enough for many threads.
const MAX_LEAVES: usize = 64;
/// Cells at most when sums are large: one waits while the other is being added to.
const MAX_LEAVES_LARGE: usize = 2;

/// How the rows are cut: blocks within cells. A function of the shape and the sum's size, never of the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    samples: usize,
    block_rows: usize,
    leaf_rows: usize,
    large_accumulators: bool,
}

impl Grid {
    /// The grid for data of this shape and sums of `accumulator_bytes`.
    pub fn new(samples: usize, features: usize, accumulator_bytes: usize) -> Self {
        let mut block_rows = BLOCK_ROWS;
        while block_rows > 16 && block_rows.saturating_mul(features) > BLOCK_ELEMENTS {
            block_rows /= 2;
        }
        let large_accumulators = accumulator_bytes > LARGE_SUM_BYTES;
        let leaves = if large_accumulators { MAX_LEAVES_LARGE } else { MAX_LEAVES };
        let mut leaf_rows = BLOCK_ROWS;
        while samples.div_ceil(leaf_rows) > leaves {
            leaf_rows *= 2;
        }
        Self { samples, block_rows, leaf_rows, large_accumulators }
    }

    /// The number of cells.
    pub fn leaves(&self) -> usize {
        self.samples.div_ceil(self.leaf_rows)
    }

    /// Rows of one block, at most.
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Rows of one cell, at most.
    pub fn leaf_rows(&self) -> usize {
        self.leaf_rows
    }

    /// Whether sums are so large that one cell is summed at a time, by all threads together.
    pub fn large_accumulators(&self) -> bool {
        self.large_accumulators
    }

    /// The rows of a cell.
    pub fn leaf(&self, leaf: usize) -> Range<usize> {
        let start = leaf * self.leaf_rows;
        start..(start + self.leaf_rows).min(self.samples)
    }

    /// The blocks of a cell, in order.
    pub fn blocks(&self, leaf: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, step) = (self.leaf(leaf), self.block_rows);
        rows.clone().step_by(step).map(move |start| start..(start + step).min(rows.end))
    }

    /// How many sums are alive at once: those being added to, and those that wait in the tree for their siblings.
    pub fn live_accumulators(&self, threads: usize) -> usize {
        let adding = if self.large_accumulators { 1 } else { threads.min(self.leaves()) };
        adding + self.leaves().saturating_sub(1).checked_ilog2().map_or(0, |levels| levels as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_rows_once() {
        for (samples, features, bytes) in [(1, 1, 8), (255, 3, 8), (256, 3, 8), (257, 3, 8), (100_000, 7, 1 << 21)] {
            let grid = Grid::new(samples, features, bytes);
            let mut next = 0;
            for leaf in 0..grid.leaves() {
                for block in grid.blocks(leaf) {
                    assert_eq!(block.start, next);
                    assert!(block.len() <= grid.block_rows());
                    next = block.end;
                }
            }
            assert_eq!(next, samples);
        }
    }
}
