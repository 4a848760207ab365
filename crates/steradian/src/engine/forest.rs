//! Accumulators of grid leaves as complete subtrees of one fixed binary tree; forests of different machines join to the
//! bitwise identical result of one run.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fold::Fold;
use super::grid::{Grid, MAX_LEAVES};
use crate::codec::{bounded, inconsistent};
use crate::error::{Error, Result};

/// A complete subtree: the accumulator of leaves `index << level .. (index + 1) << level`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Tree<A> {
    level: u32,
    index: usize,
    accumulator: A,
}

/// The accumulators of some leaves of a grid, as complete subtrees with their positions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "A: Serialize", deserialize = "A: Deserialize<'de>"))]
pub struct Forest<A> {
    grid: Grid,
    #[serde(deserialize_with = "bounded::<MAX_LEAVES, _, _>")]
    trees: Vec<Tree<A>>,
}

impl<A> Forest<A> {
    /// A forest without leaves.
    pub fn new(grid: Grid) -> Self {
        Self { grid, trees: Vec::new() }
    }

    /// The grid that the leaves belong to.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Adds the accumulator of one finished leaf, or of a subtree whose sibling was taken by [`Forest::take_sibling`].
    pub(crate) fn push(&mut self, level: u32, index: usize, accumulator: A) {
        self.trees.push(Tree { level, index, accumulator });
    }

    /// Removes and returns the sibling of a subtree, if present. The caller merges, so that it holds a lock only
    /// briefly.
    pub(crate) fn take_sibling(&mut self, level: u32, index: usize) -> Option<A> {
        let place = self.trees.iter().position(|t| t.level == level && t.index == index ^ 1)?;
        Some(self.trees.swap_remove(place).accumulator)
    }

    /// True if the forest contains a leaf.
    pub(crate) fn holds(&self, leaf: usize) -> bool {
        self.trees.iter().any(|tree| leaf >> tree.level == tree.index)
    }

    /// True if the forest contains no leaf.
    pub(crate) fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Rejects a forest that was read from bytes and is not one of this fold over some leaves of the grid: its trees are
    /// within the grid and disjoint, and have accumulators of their rows.
    pub(crate) fn check<F: Fold<Accumulator = A>>(&self, fold: &F) -> Result<()> {
        let leaves = if self.grid.is_sound() { self.grid.leaves() } else { 0 };
        // In this order, since a shift by more than the levels of the tree overflows.
        let outside = |tree: &Tree<A>| {
            tree.level > MAX_LEAVES.ilog2() || tree.index >= leaves || tree.index << tree.level >= leaves
        };
        if !self.grid.is_sound()
            || self.trees.iter().any(outside)
            || self.trees.iter().enumerate().any(|(i, a)| self.trees[..i].iter().any(|b| overlaps(a, b)))
        {
            return Err(inconsistent("its leaves are not those of its grid"));
        }
        self.trees
            .iter()
            .try_for_each(|tree| fold.check_accumulator(&tree.accumulator, &self.grid.subtree(tree.level, tree.index)))
    }

    /// True if the leaves are exactly the rows of a range; the forest passed [`Forest::check`].
    pub(crate) fn covers(&self, rows: &Range<usize>) -> bool {
        let subtrees = || self.trees.iter().map(|tree| self.grid.subtree(tree.level, tree.index));
        subtrees().all(|own| rows.start <= own.start && own.end <= rows.end)
            && subtrees().map(|own| own.len()).sum::<usize>() == rows.len()
    }

    /// Joins two forests of the same grid; `fold` is the fold that filled them.
    ///
    /// # Errors
    /// For forests of different grids, and for leaves that both have.
    pub fn join<F: Fold<Accumulator = A>>(mut self, other: Self, fold: &F) -> Result<Self> {
        if self.grid != other.grid {
            return Err(Error::invalid_argument(format!(
                "cannot merge accumulators of different grids ({:?} and {:?}); run both parts on the grid of all data",
                self.grid, other.grid
            )));
        }
        for tree in other.trees {
            if self.trees.iter().any(|t| overlaps(t, &tree)) {
                return Err(Error::invalid_argument(format!(
                    "leaves {} to {} are in both forests; add each leaf once",
                    tree.index << tree.level,
                    ((tree.index + 1) << tree.level) - 1
                )));
            }
            grow(tree.level, tree.index, tree.accumulator, fold, |level, index, accumulator| {
                match self.take_sibling(level, index) {
                    Some(sibling) => Some((accumulator, sibling)),
                    None => {
                        self.push(level, index, accumulator);
                        None
                    }
                }
            });
        }
        Ok(self)
    }

    /// The total over all leaves, or an error with the number of leaves present if some are missing.
    ///
    /// # Errors
    /// If leaves are missing.
    pub fn total<F: Fold<Accumulator = A>>(mut self, fold: &F) -> Result<A> {
        let present: usize = self.trees.iter().map(|t| leaves_of(t, self.grid.leaves())).sum();
        if present != self.grid.leaves() {
            return Err(Error::invalid_argument(format!(
                "the total requires all {} leaves, got {present}; run the others first",
                self.grid.leaves()
            )));
        }
        // The remaining subtrees are complete, one per binary digit 1 of the number of leaves: merge from the right.
        self.trees.sort_by_key(|t| t.index << t.level);
        let mut trees = self.trees.into_iter().rev().map(|t| t.accumulator);
        let last = trees.next().unwrap_or_else(|| fold.empty());
        Ok(trees.fold(last, |right, left| fold.merge(left, right)))
    }
}

fn overlaps<A>(a: &Tree<A>, b: &Tree<A>) -> bool {
    let level = a.level.max(b.level);
    (a.index << a.level) >> level == (b.index << b.level) >> level
}

fn leaves_of<A>(tree: &Tree<A>, leaves: usize) -> usize {
    (1usize << tree.level).min(leaves.saturating_sub(tree.index << tree.level))
}

/// Merges a subtree upward until `settle` stores it: `settle` either stores it (`None`) or returns it with its sibling.
pub(crate) fn grow<F: Fold>(
    mut level: u32,
    mut index: usize,
    mut accumulator: F::Accumulator,
    fold: &F,
    mut settle: impl FnMut(u32, usize, F::Accumulator) -> Option<(F::Accumulator, F::Accumulator)>,
) {
    while let Some((mine, sibling)) = settle(level, index, accumulator) {
        accumulator = if index & 1 == 1 { fold.merge(sibling, mine) } else { fold.merge(mine, sibling) };
        level += 1;
        index >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::block::Block;
    use crate::data::source::Shape;
    use crate::engine::pass_state::PassState;
    use proptest::prelude::*;

    /// A fold whose merge is associative only in shape: the accumulator *is* its merge tree.
    #[derive(Serialize)]
    struct TreeShape;

    impl Fold for TreeShape {
        const NAME: &'static str = "shape";
        type Accumulator = String;
        type Out = String;
        fn check(&self, _: &Shape, _: &Range<usize>) -> Result<()> {
            Ok(())
        }
        fn check_accumulator(&self, _: &String, _: &Range<usize>) -> Result<()> {
            Ok(())
        }
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
        fn finish(&self, accumulator: String) -> Result<String> {
            Ok(accumulator)
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
        fn any_order_of_leaves_grows_the_same_tree(leaves in 1usize..40, seed in any::<u64>()) {
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
