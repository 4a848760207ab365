//! State of a pair pass in progress: the pairs of tiles that are done, and their result so far.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Pairs are placed in any order, so those that have met and what they made say all.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PairPassState<O> {
    pairs: TilePairSet,
    out: O,
}

/// Some pairs of tiles: a bit for each place of the full square, row by row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TilePairSet(Vec<u64>);

impl TilePairSet {
    fn none(tiles: usize) -> Self {
        Self(vec![0; (tiles * tiles).div_ceil(64)])
    }

    /// Whether the pair of this number is among them.
    pub(crate) fn contains(&self, pair: usize) -> bool {
        self.0[pair / 64] >> (pair % 64) & 1 == 1
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }
}

impl<O> PairPassState<O> {
    /// None of the pairs of this many tiles.
    pub(crate) fn new(out: O, tiles: usize) -> Self {
        Self { pairs: TilePairSet::none(tiles), out }
    }

    /// What was kept of a pass over this many tiles.
    pub(crate) fn resume(kept: Self, tiles: usize) -> Result<Self> {
        if kept.pairs.0.len() != (tiles * tiles).div_ceil(64) {
            return Err(Error::invalid_data("what was kept of a pass does not fit its tiles".to_owned()));
        }
        Ok(kept)
    }

    /// The pairs that have met.
    pub(crate) fn pairs(&self) -> &TilePairSet {
        &self.pairs
    }

    /// Puts what the pair of this number made in its place.
    pub(crate) fn place(&mut self, pair: usize, place: impl FnOnce(&mut O)) {
        place(&mut self.out);
        self.pairs.0[pair / 64] |= 1 << (pair % 64);
    }

    /// What all pairs made.
    pub(crate) fn into_out(self) -> O {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_noted_by_itself() {
        let mut met = PairPassState::new(0, 9);
        for pair in [0, 63, 64, 80] {
            met.place(pair, |sum| *sum += pair);
        }
        assert_eq!((0..81).filter(|pair| met.pairs().contains(*pair)).collect::<Vec<_>>(), [0, 63, 64, 80]);
        assert_eq!((met.pairs().count(), PairPassState::resume(met, 9).unwrap().into_out()), (4, 207));
        assert!(PairPassState::resume(PairPassState::new(0, 9), 12).is_err());
    }
}
