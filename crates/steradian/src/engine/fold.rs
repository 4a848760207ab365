//! Passes: what a method does to blocks, and the fixed grid and tree that make the result independent of threads.
//!
//! A [`Fold`] reads each sample once; its sums form a commutative monoid (`empty`, `add`, `merge`). One sum belongs to
//! each cell of a fixed [`Grid`], and cells are merged along a fixed binary tree, so neither the number of threads nor
//! the order in which they finish can change a bit. A [`Forest`] holds the sums of any set of cells as complete
//! subtrees with their positions; forests of different machines join to the same bits as one run.
//!
//! A [`PairFold`] meets every pair of tiles once.

use std::ops::Range;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::data::block::Block;
use crate::error::{Error, Result};
use crate::remote::job::Work;

/// Rows of a block: enough to feed a matrix product, few enough to stop within a fraction of a second.
const BLOCK_ROWS: usize = 256;
/// Above this many elements a block gets fewer rows.
const BLOCK_ELEMENTS: usize = 1 << 25;
/// A sum larger than this is not kept once per thread.
const LARGE_SUM_BYTES: usize = 1 << 20;
/// Cells at most when sums are small: enough for many threads.
const MANY_CELLS: usize = 64;
/// Cells at most when sums are large: one waits while the other is being added to.
const FEW_CELLS: usize = 2;

/// How the rows are cut: blocks within cells. A function of the shape and the sum's size, never of the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    samples: usize,
    block_rows: usize,
    cell_rows: usize,
    large_sums: bool,
}

impl Grid {
    /// The grid for data of this shape and sums of `sum_bytes`.
    pub fn new(samples: usize, features: usize, sum_bytes: usize) -> Self {
        let mut block_rows = BLOCK_ROWS;
        while block_rows > 16 && block_rows.saturating_mul(features) > BLOCK_ELEMENTS {
            block_rows /= 2;
        }
        let large_sums = sum_bytes > LARGE_SUM_BYTES;
        let cells = if large_sums { FEW_CELLS } else { MANY_CELLS };
        let mut cell_rows = BLOCK_ROWS;
        while samples.div_ceil(cell_rows) > cells {
            cell_rows *= 2;
        }
        Self { samples, block_rows, cell_rows, large_sums }
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.samples.div_ceil(self.cell_rows)
    }

    /// Rows of one block, at most.
    pub fn block_rows(&self) -> usize {
        self.block_rows
    }

    /// Rows of one cell, at most.
    pub fn cell_rows(&self) -> usize {
        self.cell_rows
    }

    /// Whether sums are so large that one cell is summed at a time, by all threads together.
    pub fn large_sums(&self) -> bool {
        self.large_sums
    }

    /// The rows of a cell.
    pub fn cell(&self, cell: usize) -> Range<usize> {
        let start = cell * self.cell_rows;
        start..(start + self.cell_rows).min(self.samples)
    }

    /// The blocks of a cell, in order.
    pub fn blocks(&self, cell: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, step) = (self.cell(cell), self.block_rows);
        rows.clone().step_by(step).map(move |start| start..(start + step).min(rows.end))
    }

    /// How many sums are alive at once: those being added to, and those that wait in the tree for their siblings.
    pub fn live_sums(&self, threads: usize) -> usize {
        let adding = if self.large_sums { 1 } else { threads.min(self.cells()) };
        adding + self.cells().saturating_sub(1).checked_ilog2().map_or(0, |levels| levels as usize + 1)
    }
}

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

/// A complete subtree: the sum of cells `index << level .. (index + 1) << level`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tree<S> {
    level: u32,
    index: usize,
    sum: S,
}

/// The sums of some cells of a grid, as complete subtrees with their positions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forest<S> {
    grid: Grid,
    trees: Vec<Tree<S>>,
}

impl<S> Forest<S> {
    /// No cells yet.
    pub fn new(grid: Grid) -> Self {
        Self { grid, trees: Vec::new() }
    }

    /// The grid whose cells these are.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The sum of one finished cell, or of a subtree whose sibling was taken by [`Forest::take_sibling`].
    pub(crate) fn push(&mut self, level: u32, index: usize, sum: S) {
        self.trees.push(Tree { level, index, sum });
    }

    /// Takes the sibling of a subtree out, if it is there. Merging happens outside, so that a lock is held briefly.
    pub(crate) fn take_sibling(&mut self, level: u32, index: usize) -> Option<S> {
        let place = self.trees.iter().position(|t| t.level == level && t.index == index ^ 1)?;
        Some(self.trees.swap_remove(place).sum)
    }

    /// Whether a cell is among those that are summed.
    pub(crate) fn holds(&self, cell: usize) -> bool {
        self.trees.iter().any(|tree| cell >> tree.level == tree.index)
    }

    /// Whether no cell is summed yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Whether the trees are of this grid and apart, as those of any forest are that grew here.
    pub(crate) fn is_sound(&self) -> bool {
        let cells = self.grid.cells();
        let within = |tree: &Tree<S>| {
            tree.level < usize::BITS && tree.index <= (usize::MAX >> tree.level) && tree.index << tree.level < cells
        };
        self.trees.iter().all(within)
            && self.trees.iter().enumerate().all(|(i, a)| self.trees[..i].iter().all(|b| !overlaps(a, b)))
    }

    /// Brings forests of the same grid together; the caller merges with the fold that made them.
    pub fn join<F: Fold<Sum = S>>(mut self, other: Self, fold: &F) -> Result<Self> {
        if self.grid != other.grid {
            return Err(Error::asked(format!(
                "sums of different grids cannot be merged ({:?} and {:?}); run both parts on the grid of the whole data",
                self.grid, other.grid
            )));
        }
        for tree in other.trees {
            if self.trees.iter().any(|t| overlaps(t, &tree)) {
                return Err(Error::asked(format!(
                    "cells {} to {} are in both sums; each cell may be summed once",
                    tree.index << tree.level,
                    ((tree.index + 1) << tree.level) - 1
                )));
            }
            grow(tree.level, tree.index, tree.sum, fold, |level, index, sum| match self.take_sibling(level, index) {
                Some(sibling) => Some((sum, sibling)),
                None => {
                    self.push(level, index, sum);
                    None
                }
            });
        }
        Ok(self)
    }

    /// The sum of all cells, or an error that counts the missing ones.
    pub fn total<F: Fold<Sum = S>>(mut self, fold: &F) -> Result<S> {
        let held: usize = self.trees.iter().map(|t| cells_of(t, self.grid.cells())).sum();
        if held != self.grid.cells() {
            return Err(Error::asked(format!(
                "{held} of {} cells are summed; run the others first",
                self.grid.cells()
            )));
        }
        // What is left are the complete subtrees of the binary digits of the cell count: merge from the right.
        self.trees.sort_by_key(|t| t.index << t.level);
        let mut trees = self.trees.into_iter().rev().map(|t| t.sum);
        let last = trees.next().unwrap_or_else(|| fold.empty());
        Ok(trees.fold(last, |right, left| fold.merge(left, right)))
    }
}

fn overlaps<S>(a: &Tree<S>, b: &Tree<S>) -> bool {
    let level = a.level.max(b.level);
    (a.index << a.level) >> level == (b.index << b.level) >> level
}

fn cells_of<S>(tree: &Tree<S>, cells: usize) -> usize {
    (1usize << tree.level).min(cells.saturating_sub(tree.index << tree.level))
}

/// Lifts a subtree until `settle` keeps it: `settle` either stores it (`None`) or hands it back with its sibling.
pub(crate) fn grow<F: Fold>(
    mut level: u32,
    mut index: usize,
    mut sum: F::Sum,
    fold: &F,
    mut settle: impl FnMut(u32, usize, F::Sum) -> Option<(F::Sum, F::Sum)>,
) {
    while let Some((mine, sibling)) = settle(level, index, sum) {
        sum = if index & 1 == 1 { fold.merge(sibling, mine) } else { fold.merge(mine, sibling) };
        level += 1;
        index >>= 1;
    }
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
