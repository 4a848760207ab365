//! The recorder of one pass: loads from a journal what it holds of the pass, and decides when to save more.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use serde::{Serialize, de::DeserializeOwned};

use super::journal::{Journal, Payload};
use super::pass_id::PassId;
use super::pass_state::{PartialLeaf, PassState};
use crate::codec::{from_bytes, split_bytes, write_bytes};
use crate::error::Result;

/// PassRecorder parts takes at most one second in so many: large sums are kept less often. Who asks for no time between parts
/// gets one after each block.
const SNAPSHOT_OVERHEAD: u32 = 20;

/// A pass that is kept.
pub(crate) struct PassRecorder<'a> {
    journal: &'a dyn Journal,
    pass: usize,
    label: PassId,
    /// When the next part is due.
    due: Mutex<Instant>,
}

impl<'a> PassRecorder<'a> {
    pub(crate) fn new(journal: &'a dyn Journal, pass: usize, label: PassId) -> Self {
        Self { journal, pass, label, due: Mutex::new(Instant::now() + journal.every()) }
    }

    /// The total of this pass, if it was over when the fit was stopped.
    pub(crate) fn total<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.read(self.journal.total(self.pass)?)
    }

    /// What was kept of this pass.
    pub(crate) fn part<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.read(self.journal.part(self.pass)?)
    }

    fn read<T: DeserializeOwned>(&self, bytes: Option<Vec<u8>>) -> Result<Option<T>> {
        let Some(bytes) = bytes else { return Ok(None) };
        let (label, content) = split_bytes(&bytes, "a pass in a checkpoint")?;
        self.label.expect(&label, self.pass)?;
        from_bytes(content, "a sum in a checkpoint").map(Some)
    }

    /// Keeps the total.
    pub(crate) fn record_total<T: Serialize>(&self, total: &T) -> Result<()> {
        self.journal.record_total(self.pass, &Payload(&|to| write_bytes(&(&self.label, total), to)))
    }

    /// Keeps a part.
    pub(crate) fn record_snapshot<T: Serialize>(&self, part: &T) -> Result<()> {
        self.journal.record_snapshot(self.pass, &Payload(&|to| write_bytes(&(&self.label, part), to)))
    }

    /// If a part is due and no other thread is about to keep one, the right to do so.
    pub(crate) fn turn(&self) -> Option<SnapshotPermit<'_>> {
        let due = match self.due.try_lock() {
            Ok(due) => due,
            Err(TryLockError::Poisoned(due)) => due.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let now = Instant::now();
        (*due <= now).then(|| SnapshotPermit { due, since: now, every: self.journal.every() })
    }

    /// After a block: keeps the pass when that is due, or notes how far the cell is for the thread that will. `noted` is
    /// when that was done last for this cell; `alone` says that no other thread sums cells.
    pub(crate) fn after_block<S: Clone + Serialize>(
        &self,
        underway: &PassState<S>,
        own: PartialLeaf<&S>,
        noted: &mut Instant,
        alone: bool,
    ) -> Result<()> {
        if noted.elapsed() < self.journal.every() {
            return Ok(());
        }
        if let Some(turn) = self.turn() {
            if underway.show(Some(own), |pass| self.record_snapshot(pass))? {
                turn.done();
                *noted = Instant::now();
            }
        } else if !alone {
            underway.note(PartialLeaf { leaf: own.leaf, blocks: own.blocks, sum: own.sum.clone() });
            *noted = Instant::now();
        }
        Ok(())
    }
}

/// The right to keep a part; without [`SnapshotPermit::done`] the next thread gets it.
pub(crate) struct SnapshotPermit<'a> {
    due: MutexGuard<'a, Instant>,
    since: Instant,
    every: Duration,
}

impl SnapshotPermit<'_> {
    /// A part was kept: the next is due after a while.
    pub(crate) fn done(mut self) {
        let now = Instant::now();
        let sparing = if self.every.is_zero() { Duration::ZERO } else { SNAPSHOT_OVERHEAD * (now - self.since) };
        *self.due = now + self.every.max(sparing);
    }
}
