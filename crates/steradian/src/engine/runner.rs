//! The runner trait: executes passes; threads, progress, cancelling and checkpoints belong to its implementations.

use super::fold::{Fold, PairFold};
use crate::data::source::Source;
use crate::error::Result;

/// Runs passes: local threads are one runner, a cluster's driver another.
pub trait Runner: Sync {
    /// One pass over all samples.
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out>;

    /// One pass over all pairs of tiles of `tile_rows` rows.
    fn run_pairs<F: PairFold>(&self, fold: &F, source: &dyn Source, tile_rows: usize) -> Result<F::Out>;

    /// Whether [`Runner::run_pairs`] is possible; where rows stay in other processes it is not.
    fn supports_pairs(&self) -> bool {
        true
    }

    /// Dense work outside any pass, on this runner's threads.
    fn compute<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R;

    /// Whether the owner asked to stop; long dense work looks here between steps.
    fn check_cancelled(&self) -> Result<()>;

    /// Passes made so far.
    fn passes(&self) -> usize;

    /// How many threads share the work.
    fn threads(&self) -> usize;
}
