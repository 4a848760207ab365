//! The traits of passes: a fold over blocks of samples, and a pair fold over pairs of tiles.
//!
//! A [`Fold`] reads each sample once; its sums form a commutative monoid (`empty`, `add`, `merge`). One sum belongs to
//! each cell of a fixed [`Grid`](crate::Grid), and cells are merged along a fixed binary tree, so neither the number of threads nor
//! the order in which they finish can change a bit. A [`Forest`](crate::Forest) holds the sums of any set of cells as complete
//! subtrees with their positions; forests of different machines join to the same bits as one run.
//!
//! A [`PairFold`] meets every pair of tiles once.

use std::ops::Range;

use serde::{Serialize, de::DeserializeOwned};

use crate::data::block::Block;
use crate::error::Result;

/// One pass over all samples, as a value that serializes: a checkpoint identifies a pass by its bytes, and other processes run it.
pub trait Fold: Serialize + Sync {
    /// The name: of the pass in progress reports, and of the fold in jobs for other processes.
    const NAME: &'static str;

    /// What blocks are added into.
    type Accumulator: Clone + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// What the next pass needs.
    type Out;

    /// Bytes of one sum; decides the grid.
    fn accumulator_bytes(&self) -> usize;

    /// The neutral sum.
    fn empty(&self) -> Self::Accumulator;

    /// Adds a block. May use the current rayon pool, on fixed panels only.
    fn add(&self, sum: &mut Self::Accumulator, block: &Block<'_>) -> Result<()>;

    /// Adds the sum of later rows to the sum of earlier ones.
    fn merge(&self, left: Self::Accumulator, right: Self::Accumulator) -> Self::Accumulator;

    /// Turns the total into the answer.
    fn finish(&self, sum: Self::Accumulator) -> Result<Self::Out>;
}

/// One pass over all pairs of tiles.
pub trait PairFold: Sync {
    /// What one pair of tiles yields.
    type Tile: Send;
    /// What all tiles make together; a checkpoint keeps it.
    type Out: Send + Serialize + DeserializeOwned;

    /// A name for progress reports.
    fn name(&self) -> &'static str;

    /// The answer before any tile.
    fn empty(&self) -> Self::Out;

    /// Meets two tiles; the left one never comes after the right one, and they may be the same.
    fn compute_tile(&self, left: &Block<'_>, right: &Block<'_>) -> Result<Self::Tile>;

    /// Puts a tile in its place. Called in any order: places must be disjoint or sums exact.
    fn place(&self, out: &mut Self::Out, left: Range<usize>, right: Range<usize>, tile: Self::Tile);
}
