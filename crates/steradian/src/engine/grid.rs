//! The grid: rows divided into leaves and blocks, as a function of the shape and of the size of an accumulator.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Rows per block: enough for an efficient matrix product, few enough to cancel within a fraction of a second.
const BLOCK_ROWS: usize = 256;
/// Largest number of elements per block; with more, a block gets fewer rows.
const BLOCK_ELEMENTS: usize = 1 << 25;
/// Size above which only one accumulator is filled at a time, instead of one per thread.
const LARGE_ACCUMULATOR_BYTES: usize = 1 << 20;
/// Largest number of leaves if accumulators are small: enough for many threads.
pub(super) const MAX_LEAVES: usize = 64;
/// Largest number of leaves if accumulators are large: one is finished while the other is being filled.
const MAX_LEAVES_LARGE: usize = 2;

/// Division of the rows into leaves, and of leaves into blocks. It depends on the shape and the size of the
/// accumulator, not on the number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    samples: usize,
    block_rows: usize,
    leaf_rows: usize,
    large_accumulators: bool,
}

impl Grid {
    /// The grid for data of this shape and accumulators of `accumulator_bytes` bytes.
    pub fn new(samples: usize, features: usize, accumulator_bytes: usize) -> Self {
        let mut block_rows = BLOCK_ROWS;
        while block_rows > 16 && block_rows.saturating_mul(features) > BLOCK_ELEMENTS {
            block_rows /= 2;
        }
        let large_accumulators = accumulator_bytes > LARGE_ACCUMULATOR_BYTES;
        let leaves = if large_accumulators { MAX_LEAVES_LARGE } else { MAX_LEAVES };
        let mut leaf_rows = BLOCK_ROWS;
        while samples.div_ceil(leaf_rows) > leaves {
            leaf_rows *= 2;
        }
        Self { samples, block_rows, leaf_rows, large_accumulators }
    }

    /// True if [`Grid::new`] creates such grids. One that was read from bytes may differ, and have leaves without end.
    pub(crate) fn is_sound(&self) -> bool {
        let Self { samples, block_rows, leaf_rows, .. } = *self;
        samples <= usize::MAX / 4
            && block_rows.is_power_of_two()
            && (16..=BLOCK_ROWS).contains(&block_rows)
            && leaf_rows.is_power_of_two()
            && leaf_rows >= BLOCK_ROWS
            && (leaf_rows == BLOCK_ROWS || leaf_rows / 2 < samples)
            && self.leaves() <= MAX_LEAVES
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.samples.div_ceil(self.leaf_rows)
    }

    /// Rows per block; the last block of a leaf may have fewer.
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Rows per leaf; the last leaf may have fewer.
    pub fn leaf_rows(&self) -> usize {
        self.leaf_rows
    }

    /// True if accumulators are so large that one leaf is filled at a time, by all threads together.
    pub fn large_accumulators(&self) -> bool {
        self.large_accumulators
    }

    /// The rows of a leaf.
    pub fn leaf(&self, leaf: usize) -> Range<usize> {
        let start = leaf * self.leaf_rows;
        start..(start + self.leaf_rows).min(self.samples)
    }

    /// The rows of the leaves `index << level .. (index + 1) << level` that exist.
    pub(super) fn subtree(&self, level: u32, index: usize) -> Range<usize> {
        let first = index << level;
        let last = (first + (1 << level)).min(self.leaves());
        self.leaf(first).start..self.leaf(last - 1).end
    }

    /// The blocks of a leaf, in order.
    pub fn blocks(&self, leaf: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, step) = (self.leaf(leaf), self.block_rows);
        rows.clone().step_by(step).map(move |start| start..(start + step).min(rows.end))
    }

    /// Largest number of accumulators in memory at once: those being filled, and those that await their siblings in the
    /// tree.
    pub fn live_accumulators(&self, threads: usize) -> usize {
        let filling = if self.large_accumulators { 1 } else { threads.min(self.leaves()) };
        filling + self.leaves().saturating_sub(1).checked_ilog2().map_or(0, |levels| levels as usize + 1)
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
