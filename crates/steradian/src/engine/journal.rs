//! The journal trait: the log of pass totals that a checkpoint stores and an interrupted fit resumes from.
//!
//! Between passes a fit computes in memory, from its parameters and the totals of earlier passes only. So a checkpoint
//! is a [`Journal`] of totals in order: a resumed fit starts from the first pass, and each pass with a stored total
//! returns it instead of reading data. The result is bitwise identical. Of the pass in progress the journal stores a
//! snapshot: the finished leaves of the grid and the accumulators of started ones, or the finished pairs of tiles.
//!
//! [`Local::with_journal`](crate::Local::with_journal) sets the journal of a runner; a
//! [`FitIdentity`](crate::fit::fit_identity::FitIdentity) identifies the data and parameters of its fit.

use std::io::{self, Write};
use std::time::Duration;

use crate::error::Result;

/// Totals of finished passes, in order, and a snapshot of the pass in progress. Passes are numbered from 1.
///
/// An error of these methods ends the fit; a journal that cannot be written but need not end the fit returns `Ok`.
pub trait Journal: Send + Sync {
    /// The total of a pass, if it is finished.
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>>;

    /// The last snapshot of a pass that is not finished.
    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>>;

    /// Saves the total of `pass`, the one after the last finished pass.
    fn record_total(&self, pass: usize, content: &Payload<'_>) -> Result<()>;

    /// Saves a snapshot of the pass in progress and replaces the previous one atomically.
    fn record_snapshot(&self, pass: usize, content: &Payload<'_>) -> Result<()>;

    /// Least time between two snapshots.
    fn every(&self) -> Duration;
}

/// A value that is serialized while it is written, because accumulators may be large.
pub struct Payload<'a>(pub(crate) &'a dyn Fn(&mut dyn Write) -> io::Result<()>);

impl Payload<'_> {
    /// Writes the bytes in small pieces, so `to` should be buffered. Each call writes identical bytes.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        (self.0)(to)
    }
}

impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a payload")
    }
}
