//! State of a pass in progress, shared by threads: accumulators of finished leaves and of started ones.
//!
//! Blocks are added to a leaf in order, and leaves are merged along a fixed tree. So a pass can resume from the
//! accumulator of the first blocks of a leaf, and from any set of finished leaves, to a bitwise identical total.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::fold::Fold;
use super::forest::{Forest, grow};
use super::grid::{Grid, MAX_LEAVES};
use crate::codec::bounded;
use crate::error::{Error, Result};

/// The accumulator of the first blocks of a leaf.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartialLeaf<A> {
    pub(crate) leaf: usize,
    /// Number of blocks added.
    pub(crate) blocks: usize,
    pub(crate) accumulator: A,
}

/// The state of a pass in progress, as read from a checkpoint.
#[derive(Debug, Deserialize)]
#[serde(bound = "A: Deserialize<'de>")]
pub(crate) struct PassSnapshot<A> {
    forest: Forest<A>,
    #[serde(deserialize_with = "bounded::<MAX_LEAVES, _, _>")]
    started: Vec<PartialLeaf<A>>,
}

/// The state of a pass in progress, as written to a checkpoint: it borrows the accumulators.
#[derive(Debug, Serialize)]
pub(crate) struct PassSnapshotRef<'a, A> {
    forest: &'a Forest<A>,
    started: Vec<PartialLeaf<&'a A>>,
}

/// Finished and started leaves behind a lock. Leaves finish in any order, on any thread, and are merged outside the
/// lock.
pub(crate) struct PassState<A>(Mutex<LeafSet<A>>);

struct LeafSet<A> {
    forest: Forest<A>,
    /// At most one per leaf that is not in the forest.
    started: Vec<PartialLeaf<A>>,
    /// Number of accumulators that threads have taken out of the forest to merge them.
    merging: usize,
}

impl<A: Clone> PassState<A> {
    /// The state before the first block.
    pub(crate) fn new(grid: Grid) -> Self {
        Self::from_parts(Forest::new(grid), Vec::new())
    }

    fn from_parts(forest: Forest<A>, started: Vec<PartialLeaf<A>>) -> Self {
        Self(Mutex::new(LeafSet { forest, started, merging: 0 }))
    }

    /// The state that a snapshot of a pass on this grid holds.
    pub(crate) fn resume<F: Fold<Accumulator = A>>(snapshot: PassSnapshot<A>, grid: Grid, fold: &F) -> Result<Self> {
        let PassSnapshot { forest, started } = snapshot;
        let within = |(i, one): (usize, &PartialLeaf<A>)| {
            one.leaf < grid.leaves()
                && one.blocks <= grid.blocks(one.leaf).count()
                && !forest.holds(one.leaf)
                && started[..i].iter().all(|other| other.leaf != one.leaf)
        };
        // The rows of the blocks that were added to a leaf.
        let rows = |one: &PartialLeaf<A>| {
            let start = grid.leaf(one.leaf).start;
            start..grid.blocks(one.leaf).take(one.blocks).last().map_or(start, |block| block.end)
        };
        let agrees = |one: &PartialLeaf<A>| fold.check_accumulator(&one.accumulator, &rows(one)).is_ok();
        if forest.grid() != grid
            || forest.check(fold).is_err()
            || !started.iter().enumerate().all(within)
            || !started.iter().all(agrees)
        {
            return Err(Error::invalid_data(
                "checkpoint does not match this pass (different leaf layout); delete it and start again",
            ));
        }
        Ok(Self::from_parts(forest, started))
    }

    fn lock(&self) -> MutexGuard<'_, LeafSet<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The leaves of a range that are not finished, in order, and the rows of each that are not added.
    pub(crate) fn remaining(&self, leaves: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let state = self.lock();
        let grid = state.forest.grid();
        let rest = |leaf: usize| {
            let blocks = state.started.iter().find(|other| other.leaf == leaf).map_or(0, |started| started.blocks);
            let end = grid.leaf(leaf).end;
            grid.blocks(leaf).nth(blocks).map_or(end, |rows| rows.start)..end
        };
        leaves.filter(|leaf| !state.forest.holds(*leaf)).map(|leaf| (leaf, rest(leaf))).collect()
    }

    /// The number of blocks already added to a leaf, and their accumulator. A small accumulator also remains in the
    /// state, so that snapshots by other threads contain it.
    pub(crate) fn start_leaf<F: Fold<Accumulator = A>>(&self, leaf: usize, fold: &F) -> (usize, A) {
        let mut state = self.lock();
        let Some(place) = state.started.iter().position(|other| other.leaf == leaf) else {
            let rows = state.forest.grid().leaf(leaf).len();
            drop(state);
            return (0, fold.empty_for(rows));
        };
        if state.forest.grid().large_accumulators() {
            let partial = state.started.swap_remove(place);
            return (partial.blocks, partial.accumulator);
        }
        let partial = &state.started[place];
        (partial.blocks, partial.accumulator.clone())
    }

    /// Stores the progress of a leaf.
    pub(crate) fn store(&self, partial: PartialLeaf<A>) {
        let mut state = self.lock();
        state.started.retain(|other| other.leaf != partial.leaf);
        state.started.push(partial);
    }

    /// Adds a finished leaf to the tree.
    pub(crate) fn insert<F: Fold<Accumulator = A>>(&self, leaf: usize, accumulator: A, fold: &F) {
        let mut holds_sibling = false;
        grow(0, leaf, accumulator, fold, |level, index, accumulator| {
            let mut state = self.lock();
            if holds_sibling {
                state.merging -= 1;
            } else {
                state.started.retain(|other| other.leaf != leaf);
            }
            match state.forest.take_sibling(level, index) {
                Some(sibling) => {
                    holds_sibling = true;
                    state.merging += 1;
                    Some((accumulator, sibling))
                }
                None => {
                    state.forest.push(level, index, accumulator);
                    None
                }
            }
        });
    }

    /// Calls `save` with the state of the pass, where the thread's own leaf replaces the stored progress of that leaf.
    /// Returns false without a call before the first block, and while other threads merge accumulators out of the
    /// forest.
    pub(crate) fn snapshot(
        &self,
        own: Option<PartialLeaf<&A>>,
        save: impl FnOnce(&PassSnapshotRef<'_, A>) -> Result<()>,
    ) -> Result<bool> {
        let state = self.lock();
        let of_others = state.started.iter().filter(|other| own.as_ref().is_none_or(|own| own.leaf != other.leaf));
        let started: Vec<_> = of_others
            .map(|other| PartialLeaf { leaf: other.leaf, blocks: other.blocks, accumulator: &other.accumulator })
            .chain(own.as_ref().map(|own| PartialLeaf { accumulator: own.accumulator, ..*own }))
            .collect();
        if state.merging > 0 || (state.forest.is_empty() && started.is_empty()) {
            return Ok(false);
        }
        save(&PassSnapshotRef { forest: &state.forest, started })?;
        Ok(true)
    }

    /// The finished leaves.
    pub(crate) fn into_forest(self) -> Forest<A> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).forest
    }
}
