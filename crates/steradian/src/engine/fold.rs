//! The traits of passes: a fold over blocks of samples, and a pair fold over pairs of tiles.
//!
//! A [`Fold`] reads each sample once; its accumulators form a monoid (`empty`, `merge`) up to rounding. Each leaf of a
//! fixed [`Grid`](super::grid::Grid) has one accumulator, and leaves are merged along a fixed binary tree, so the
//! result does not depend on the number of threads or on the order in which they finish. A
//! [`Forest`](super::forest::Forest) holds the accumulators of any set of leaves as complete subtrees with their
//! positions; forests of different machines join to the bitwise identical result of one run.
//!
//! A [`PairFold`] computes every pair of tiles once.

use std::ops::Range;

use serde::{Serialize, de::DeserializeOwned};

use crate::data::block::Block;
use crate::data::source::Shape;
use crate::error::Result;

/// One pass over all samples, as a serializable value: a checkpoint identifies the pass by its bytes, and other
/// processes can run it.
pub trait Fold: Serialize + Sync {
    /// Name of the pass in progress reports and of the fold in jobs for other processes.
    const NAME: &'static str;

    /// State that blocks are added to.
    type Accumulator: Clone + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// Result of the pass.
    type Out: Send;

    /// Rejects a fold that does not agree with itself or with the data, before it reads any: it may come from bytes of
    /// another process. `samples` are the indices of the samples that it will read.
    ///
    /// # Errors
    /// For arrays of another length than the data have features or samples, and for numbers out of range.
    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()>;

    /// Rejects an accumulator that this fold does not compute from the samples with these indices, before it is merged or
    /// finished: it may come from bytes of another process or of a file.
    ///
    /// # Errors
    /// For arrays of another length, and for counts above the number of samples.
    fn check_accumulator(&self, accumulator: &Self::Accumulator, samples: &Range<usize>) -> Result<()>;

    /// Bytes of one accumulator; determines the grid.
    fn accumulator_bytes(&self) -> usize;

    /// Accumulator of no rows.
    fn empty(&self) -> Self::Accumulator;

    /// Accumulator of no rows, with room for this many; for one that grows with its rows.
    fn empty_for(&self, rows: usize) -> Self::Accumulator {
        let _ = rows;
        self.empty()
    }

    /// Adds a block. May use the current rayon pool, on fixed panels only.
    fn add(&self, accumulator: &mut Self::Accumulator, block: &Block<'_>) -> Result<()>;

    /// Merges the accumulator of earlier rows (left) with that of later rows (right).
    fn merge(&self, left: Self::Accumulator, right: Self::Accumulator) -> Self::Accumulator;

    /// Converts the total to the result.
    fn finish(&self, total: Self::Accumulator) -> Result<Self::Out>;
}

/// One pass over all pairs of tiles.
pub trait PairFold: Sync {
    /// Result of one pair of tiles.
    type Tile: Send;
    /// Result of all pairs; a checkpoint saves it.
    type Out: Send + Serialize + DeserializeOwned;

    /// Name of the pass in progress reports.
    fn name(&self) -> &'static str;

    /// Result before the first tile.
    fn empty(&self) -> Self::Out;

    /// Rejects a result of another size than [`PairFold::empty`] has: it may come from a file.
    ///
    /// # Errors
    /// For a result of another size.
    fn check_out(&self, out: &Self::Out) -> Result<()>;

    /// Computes one pair of tiles; the left tile never comes after the right one, and both may be the same tile.
    fn compute_tile(&self, left: &Block<'_>, right: &Block<'_>) -> Result<Self::Tile>;

    /// Writes a tile to its place in the result. Called in any order: places must be disjoint or sums exact.
    fn place(&self, out: &mut Self::Out, left: Range<usize>, right: Range<usize>, tile: Self::Tile);
}
