//! Partial results of grid cells as complete subtrees of one fixed binary tree; forests of different machines join to the
//! same bits as one run.

use serde::{Deserialize, Serialize};

use super::fold::Fold;
use super::grid::Grid;
use crate::error::{Error, Result};

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
    pub(crate) fn holds(&self, leaf: usize) -> bool {
        self.trees.iter().any(|tree| leaf >> tree.level == tree.index)
    }

    /// Whether no cell is summed yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Whether the trees are of this grid and apart, as those of any forest are that grew here.
    pub(crate) fn is_sound(&self) -> bool {
        let leaves = self.grid.leaves();
        let within = |tree: &Tree<S>| {
            tree.level < usize::BITS && tree.index <= (usize::MAX >> tree.level) && tree.index << tree.level < leaves
        };
        self.trees.iter().all(within)
            && self.trees.iter().enumerate().all(|(i, a)| self.trees[..i].iter().all(|b| !overlaps(a, b)))
    }

    /// Brings forests of the same grid together; the caller merges with the fold that made them.
    pub fn join<F: Fold<Accumulator = S>>(mut self, other: Self, fold: &F) -> Result<Self> {
        if self.grid != other.grid {
            return Err(Error::invalid_argument(format!(
                "sums of different grids cannot be merged ({:?} and {:?}); run both parts on the grid of the whole data",
                self.grid, other.grid
            )));
        }
        for tree in other.trees {
            if self.trees.iter().any(|t| overlaps(t, &tree)) {
                return Err(Error::invalid_argument(format!(
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
    pub fn total<F: Fold<Accumulator = S>>(mut self, fold: &F) -> Result<S> {
        let held: usize = self.trees.iter().map(|t| cells_of(t, self.grid.leaves())).sum();
        if held != self.grid.leaves() {
            return Err(Error::invalid_argument(format!(
                "{held} of {} cells are summed; run the others first",
                self.grid.leaves()
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

fn cells_of<S>(tree: &Tree<S>, leaves: usize) -> usize {
    (1usize << tree.level).min(leaves.saturating_sub(tree.index << tree.level))
}

/// Lifts a subtree until `settle` keeps it: `settle` either stores it (`None`) or hands it back with its sibling.
pub(crate) fn grow<F: Fold>(
    mut level: u32,
    mut index: usize,
    mut sum: F::Accumulator,
    fold: &F,
    mut settle: impl FnMut(u32, usize, F::Accumulator) -> Option<(F::Accumulator, F::Accumulator)>,
) {
    while let Some((mine, sibling)) = settle(level, index, sum) {
        sum = if index & 1 == 1 { fold.merge(sibling, mine) } else { fold.merge(mine, sibling) };
        level += 1;
        index >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::data::block::Block;
    use crate::engine::pass_state::PassState;
    use proptest::prelude::*;

    /// A fold whose merge is associative only in shape: the sum *is* the tree that made it.
    #[derive(Serialize)]
    struct TreeShape;

    impl Fold for TreeShape {
        const NAME: &'static str = "shape";
        type Accumulator = String;
        type Out = String;
        fn accumulator_bytes(&self) -> usize {
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
        let forest = PassState::new(grid);
        for &leaf in order {
            forest.insert(leaf, leaf.to_string(), &TreeShape);
        }
        forest.into_forest().total(&TreeShape).unwrap()
    }

    proptest! {
        #[test]
        fn any_order_of_cells_grows_the_same_tree(leaves in 1usize..40, seed in any::<u64>()) {
            let grid = Grid::new(leaves * 256, 1, 8);
            let forward: Vec<usize> = (0..leaves).collect();
            let mut shuffled = forward.clone();
            let mut state = seed | 1;
            for i in (1..leaves).rev() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                shuffled.swap(i, (state >> 33) as usize % (i + 1));
            }
            prop_assert_eq!(tree_of(&forward, grid), tree_of(&shuffled, grid));
        }

        #[test]
        fn any_cut_joins_to_the_same_tree(leaves in 2usize..40, cut in 1usize..39) {
            let cut = cut.min(leaves - 1);
            let grid = Grid::new(leaves * 256, 1, 8);
            let part = |range: Range<usize>| {
                let forest = PassState::new(grid);
                for leaf in range {
                    forest.insert(leaf, leaf.to_string(), &TreeShape);
                }
                forest.into_forest()
            };
            let joined = part(cut..leaves).join(part(0..cut), &TreeShape).unwrap().total(&TreeShape).unwrap();
            prop_assert_eq!(joined, tree_of(&(0..leaves).collect::<Vec<_>>(), grid));
            prop_assert!(part(0..cut).join(part(0..1), &TreeShape).is_err());
            prop_assert!(part(0..cut).total(&TreeShape).is_err());
        }
    }
}
