//! Passes: what a method does to blocks, and the fixed grid and tree that make the result independent of threads.
//!
//! A [`Fold`] reads each sample once; its sums form a commutative monoid (`empty`, `add`, `merge`). One sum belongs to
//! each cell of a fixed [`Grid`], and cells are merged along a fixed binary tree, so neither the number of threads nor
//! the order in which they finish can change a bit. A [`Forest`] holds the sums of any set of cells as complete
//! subtrees with their positions; forests of different machines join to the same bits as one run.
//!
//! A [`PairFold`] meets every pair of tiles once.

use std::ops::Range;

use serde::{Serialize, de::DeserializeOwned};

use crate::data::block::Block;
use crate::error::Result;
use crate::remote::job::Work;

/// One pass over all samples.
pub trait Fold: Sync {
    /// What blocks are added into.
    type Sum: Clone + Send + Sync + Serialize + DeserializeOwned + 'static;
    /// What the next pass needs.
    type Out;

    /// A name for progress reports.
    fn name(&self) -> &'static str;

    /// This pass in a form that other processes can run; `None` where it exists in this process only.
    fn ship(&self) -> Option<Work<'_>> {
        None
    }

    /// Bytes of one sum; decides the grid.
    fn sum_bytes(&self) -> usize;

    /// The neutral sum.
    fn empty(&self) -> Self::Sum;

    /// Adds a block. May use the current rayon pool, on fixed panels only.
    fn add(&self, sum: &mut Self::Sum, block: &Block<'_>) -> Result<()>;

    /// Adds the sum of later rows to the sum of earlier ones.
    fn merge(&self, left: Self::Sum, right: Self::Sum) -> Self::Sum;

    /// Turns the total into the answer.
    fn finish(&self, sum: Self::Sum) -> Result<Self::Out>;
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
    fn meet(&self, left: &Block<'_>, right: &Block<'_>) -> Result<Self::Tile>;

    /// Puts a tile in its place. Called in any order: places must be disjoint or sums exact.
    fn place(&self, out: &mut Self::Out, left: Range<usize>, right: Range<usize>, tile: Self::Tile);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pass_state::Underway;
    use proptest::prelude::*;

    /// A fold whose merge is associative only in shape: the sum *is* the tree that made it.
    struct Shape;

    impl Fold for Shape {
        type Sum = String;
        type Out = String;
        fn name(&self) -> &'static str {
            "shape"
        }
        fn sum_bytes(&self) -> usize {
            0
        }
        fn empty(&self) -> String {
            String::new()
        }
        fn add(&self, _: &mut String, _: &Block<'_>) -> Result<()> {
            Ok(())
        }
        fn merge(&self, left: String, right: String) -> String {
            format!("({left} {right})")
        }
        fn finish(&self, sum: String) -> Result<String> {
            Ok(sum)
        }
    }

    fn tree_of(order: &[usize], grid: Grid) -> String {
        let forest = Underway::new(grid);
        for &cell in order {
            forest.insert(cell, cell.to_string(), &Shape);
        }
        forest.into_forest().total(&Shape).unwrap()
    }

    #[test]
    fn blocks_cover_the_rows_once() {
        for (samples, features, bytes) in [(1, 1, 8), (255, 3, 8), (256, 3, 8), (257, 3, 8), (100_000, 7, 1 << 21)] {
            let grid = Grid::new(samples, features, bytes);
            let mut next = 0;
            for cell in 0..grid.cells() {
                for block in grid.blocks(cell) {
                    assert_eq!(block.start, next);
                    assert!(block.len() <= grid.block_rows());
                    next = block.end;
                }
            }
            assert_eq!(next, samples);
        }
    }

    proptest! {
        #[test]
        fn any_order_of_cells_grows_the_same_tree(cells in 1usize..40, seed in any::<u64>()) {
            let grid = Grid::new(cells * 256, 1, 8);
            let forward: Vec<usize> = (0..cells).collect();
            let mut shuffled = forward.clone();
            let mut state = seed | 1;
            for i in (1..cells).rev() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                shuffled.swap(i, (state >> 33) as usize % (i + 1));
            }
            prop_assert_eq!(tree_of(&forward, grid), tree_of(&shuffled, grid));
        }

        #[test]
        fn any_cut_joins_to_the_same_tree(cells in 2usize..40, cut in 1usize..39) {
            let cut = cut.min(cells - 1);
            let grid = Grid::new(cells * 256, 1, 8);
            let part = |range: Range<usize>| {
                let forest = Underway::new(grid);
                for cell in range {
                    forest.insert(cell, cell.to_string(), &Shape);
                }
                forest.into_forest()
            };
            let joined = part(cut..cells).join(part(0..cut), &Shape).unwrap().total(&Shape).unwrap();
            prop_assert_eq!(joined, tree_of(&(0..cells).collect::<Vec<_>>(), grid));
            prop_assert!(part(0..cut).join(part(0..1), &Shape).is_err());
            prop_assert!(part(0..cut).total(&Shape).is_err());
        }
    }
}
