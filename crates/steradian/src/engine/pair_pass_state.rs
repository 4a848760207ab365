//! State of a pair pass in progress: the finished pairs of tiles, and their result so far.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory;

/// The finished pairs and their result; pairs finish in any order, so this is the complete state.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PairPassState<O> {
    pairs: TilePairSet,
    out: O,
}

/// A set of pairs of tiles: one bit per entry of the full square matrix of pairs, row by row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TilePairSet(Vec<u64>);

impl TilePairSet {
    fn none(tiles: usize) -> Self {
        Self(memory::filled((tiles * tiles).div_ceil(64), 0))
    }

    /// True if the set contains the pair with this index.
    pub(crate) fn contains(&self, pair: usize) -> bool {
        self.0[pair / 64] >> (pair % 64) & 1 == 1
    }

    /// Number of pairs in the set.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }
}

impl<O> PairPassState<O> {
    /// A state without finished pairs, for this many tiles.
    pub(crate) fn new(out: O, tiles: usize) -> Self {
        Self { pairs: TilePairSet::none(tiles), out }
    }

    /// The stored state of a pass over this many tiles.
    pub(crate) fn resume(stored: Self, tiles: usize) -> Result<Self> {
        let beyond = |set: &TilePairSet| (tiles * tiles..64 * set.0.len()).any(|pair| set.contains(pair));
        if stored.pairs.0.len() != (tiles * tiles).div_ceil(64) || beyond(&stored.pairs) {
            return Err(Error::invalid_data(
                "checkpoint does not match this pass (different tile layout); delete it and start again",
            ));
        }
        Ok(stored)
    }

    /// The finished pairs.
    pub(crate) fn pairs(&self) -> &TilePairSet {
        &self.pairs
    }

    /// Adds the result of the pair with this index by `place`.
    pub(crate) fn place(&mut self, pair: usize, place: impl FnOnce(&mut O)) {
        place(&mut self.out);
        self.pairs.0[pair / 64] |= 1 << (pair % 64);
    }

    /// The result so far.
    pub(crate) fn out(&self) -> &O {
        &self.out
    }

    /// The result of all pairs.
    pub(crate) fn into_out(self) -> O {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_recorded_by_itself() {
        let mut state = PairPassState::new(0, 9);
        for pair in [0, 63, 64, 80] {
            state.place(pair, |out| *out += pair);
        }
        assert_eq!((0..81).filter(|pair| state.pairs().contains(*pair)).collect::<Vec<_>>(), [0, 63, 64, 80]);
        assert_eq!((state.pairs().count(), PairPassState::resume(state, 9).unwrap().into_out()), (4, 207));
        assert!(PairPassState::resume(PairPassState::new(0, 9), 12).is_err());
    }
}
