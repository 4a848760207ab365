//! The journal trait: the log of pass totals that a checkpoint stores, from which a fit resumes to the same bits.
//!
//! Between passes a fit computes in memory, from nothing but its parameters and the totals of the passes before. So a
//! checkpoint is a [`Journal`] of totals in order: a fit that goes on begins at its first line, and each pass whose total
//! is there takes it instead of reading data. Of the pass under way the journal keeps a part: finished cells of the grid
//! and the sums of begun ones, or the tiles that have met.
//!
//! [`Local::with_journal`](crate::Local::kept_in) makes a runner keep one; [`FitIdentity`](crate::Origin) says of which data and parameters it is.

use std::io::{self, Write};
use std::time::Duration;

use crate::error::Result;

/// Totals of passes that are over, in order, and a part of the one under way. Passes count from 1.
///
/// What cannot be kept ends the fit if these methods say so; a journal that only wants to be left alone then returns `Ok`.
pub trait Journal: Send + Sync {
    /// The total of a pass, if it is over.
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>>;

    /// What was kept last of a pass that is not over.
    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>>;

    /// Keeps the total of the pass after the last one that is over.
    fn record_total(&self, pass: usize, content: &Payload<'_>) -> Result<()>;

    /// Keeps a part of the pass under way, in place of what was kept of it before: the old or the new, never a mixture.
    fn record_snapshot(&self, pass: usize, content: &Payload<'_>) -> Result<()>;

    /// How much time passes between two parts, at least.
    fn every(&self) -> Duration;
}

/// Bytes that are made while they are written, since sums may be large.
pub struct Payload<'a>(pub(crate) &'a dyn Fn(&mut dyn Write) -> io::Result<()>);

impl Payload<'_> {
    /// Writes them, in small pieces: give a buffered writer. Writes the same bytes each time.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        (self.0)(to)
    }
}

impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes to be kept")
    }
}
