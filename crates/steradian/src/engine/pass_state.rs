//! State of a pass in progress, shared by threads: accumulators of finished grid cells and of started ones.
//!
//! Within a cell blocks are added one after the other, so the sum of its first blocks is a state to go on from, and so is
//! every set of cells in the tree: whatever is kept, the rest is summed as it would have been anyway, to the same bits.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::fold::Fold;
use super::forest::{Forest, grow};
use super::grid::Grid;
use crate::error::{Error, Result};

/// The sum of the first blocks of a cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartialLeaf<S> {
    pub(crate) leaf: usize,
    /// How many of its blocks are added.
    pub(crate) blocks: usize,
    pub(crate) sum: S,
}

/// A pass under way as it is read from a checkpoint.
#[derive(Debug, Deserialize)]
pub(crate) struct PassSnapshot<S> {
    forest: Forest<S>,
    begun: Vec<PartialLeaf<S>>,
}

/// The same as it is written: sums stay where they are.
#[derive(Debug, Serialize)]
pub(crate) struct PassSnapshotRef<'a, S> {
    forest: &'a Forest<S>,
    begun: Vec<PartialLeaf<&'a S>>,
}

/// Cells come in any order, from any thread, and are merged outside the lock.
pub(crate) struct PassState<S>(Mutex<LeafSet<S>>);

struct LeafSet<S> {
    forest: Forest<S>,
    /// At most one for each cell that is not in the forest.
    begun: Vec<PartialLeaf<S>>,
    /// Sums that threads have taken out of the forest to merge them.
    merging: usize,
}

impl<S: Clone> PassState<S> {
    /// Nothing is summed yet.
    pub(crate) fn new(grid: Grid) -> Self {
        Self::from_parts(Forest::new(grid), Vec::new())
    }

    fn from_parts(forest: Forest<S>, begun: Vec<PartialLeaf<S>>) -> Self {
        Self(Mutex::new(LeafSet { forest, begun, merging: 0 }))
    }

    /// What was kept of a pass on this grid.
    pub(crate) fn resume(kept: PassSnapshot<S>, grid: Grid) -> Result<Self> {
        let PassSnapshot { forest, begun } = kept;
        let within = |(i, one): (usize, &PartialLeaf<S>)| {
            one.leaf < grid.leaves()
                && one.blocks <= grid.blocks(one.leaf).count()
                && !forest.holds(one.leaf)
                && begun[..i].iter().all(|other| other.leaf != one.leaf)
        };
        if forest.grid() != grid || !forest.is_sound() || !begun.iter().enumerate().all(within) {
            return Err(Error::invalid_data("what was kept of a pass does not fit its cells".to_owned()));
        }
        Ok(Self::from_parts(forest, begun))
    }

    fn lock(&self) -> MutexGuard<'_, LeafSet<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cells among these that are not finished, in order, and the rows of each that are not added.
    pub(crate) fn left(&self, leaves: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let state = self.lock();
        let grid = state.forest.grid();
        let rest = |leaf: usize| {
            let begun = state.begun.iter().find(|begun| begun.leaf == leaf).map_or(0, |begun| begun.blocks);
            let end = grid.leaf(leaf).end;
            grid.blocks(leaf).nth(begun).map_or(end, |rows| rows.start)..end
        };
        leaves.filter(|leaf| !state.forest.holds(*leaf)).map(|leaf| (leaf, rest(leaf))).collect()
    }

    /// How far a cell is: the number of blocks and their sum. It stays kept where sums are small, so that other threads
    /// that keep the pass do not lose it.
    pub(crate) fn begin<F: Fold<Accumulator = S>>(&self, leaf: usize, fold: &F) -> (usize, S) {
        let mut state = self.lock();
        let Some(place) = state.begun.iter().position(|begun| begun.leaf == leaf) else {
            return (0, fold.empty());
        };
        if state.forest.grid().large_accumulators() {
            let begun = state.begun.swap_remove(place);
            return (begun.blocks, begun.sum);
        }
        let begun = &state.begun[place];
        (begun.blocks, begun.sum.clone())
    }

    /// Notes how far a cell is.
    pub(crate) fn note(&self, begun: PartialLeaf<S>) {
        let mut state = self.lock();
        state.begun.retain(|other| other.leaf != begun.leaf);
        state.begun.push(begun);
    }

    /// Puts a finished cell into the tree.
    pub(crate) fn insert<F: Fold<Accumulator = S>>(&self, leaf: usize, sum: S, fold: &F) {
        let mut holds_sibling = false;
        grow(0, leaf, sum, fold, |level, index, sum| {
            let mut state = self.lock();
            if holds_sibling {
                state.merging -= 1;
            } else {
                state.begun.retain(|begun| begun.leaf != leaf);
            }
            match state.forest.take_sibling(level, index) {
                Some(sibling) => {
                    holds_sibling = true;
                    state.merging += 1;
                    Some((sum, sibling))
                }
                None => {
                    state.forest.push(level, index, sum);
                    None
                }
            }
        });
    }

    /// Shows the pass as it stands to `keep`, with the thread's own cell in place of what was noted of it. Says whether it
    /// did: there is nothing to keep before the first sum, and while threads merge, a part of the tree is in their hands.
    pub(crate) fn show(
        &self,
        own: Option<PartialLeaf<&S>>,
        keep: impl FnOnce(&PassSnapshotRef<'_, S>) -> Result<()>,
    ) -> Result<bool> {
        let state = self.lock();
        let of_others = state.begun.iter().filter(|begun| own.as_ref().is_none_or(|own| own.leaf != begun.leaf));
        let begun: Vec<_> = of_others
            .map(|begun| PartialLeaf { leaf: begun.leaf, blocks: begun.blocks, sum: &begun.sum })
            .chain(own.as_ref().map(|own| PartialLeaf { sum: own.sum, ..*own }))
            .collect();
        if state.merging > 0 || (state.forest.is_empty() && begun.is_empty()) {
            return Ok(false);
        }
        keep(&PassSnapshotRef { forest: &state.forest, begun })?;
        Ok(true)
    }

    /// The finished cells.
    pub(crate) fn into_forest(self) -> Forest<S> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).forest
    }
}
