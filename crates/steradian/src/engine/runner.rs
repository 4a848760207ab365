//! The runner trait, which executes passes; its implementations add threads, progress, cancellation and checkpoints.

use super::fold::{Fold, PairFold};
use crate::data::source::Source;
use crate::error::Result;

/// Executes passes: on threads of this process, or on a cluster.
pub trait Runner: Sync {
    /// Runs one pass over all samples.
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out>;

    /// Runs one pass over all pairs of tiles of `tile_rows` rows.
    fn run_pairs<F: PairFold>(&self, fold: &F, source: &dyn Source, tile_rows: usize) -> Result<F::Out>;

    /// True if [`Runner::run_pairs`] is supported; a runner whose rows are in other processes does not support it.
    fn supports_pairs(&self) -> bool {
        true
    }

    /// Runs dense work outside any pass on this runner's threads.
    fn compute<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R;

    /// An error if the work was canceled; long dense work calls it between steps.
    fn check_cancelled(&self) -> Result<()>;

    /// Number of passes started so far.
    fn passes(&self) -> usize;

    /// Number of threads.
    fn threads(&self) -> usize;
}
