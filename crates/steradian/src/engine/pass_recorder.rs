//! The recorder of one pass: loads its total or snapshot from a journal, and decides when to save the next snapshot.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use serde::{Serialize, de::DeserializeOwned};

use super::journal::{Journal, Payload};
use super::pass_id::PassId;
use super::pass_state::{PartialLeaf, PassState};
use crate::codec::{from_bytes, split_bytes, write_bytes};
use crate::error::Result;

/// Least ratio of the time between snapshots to the time of writing one, so that large accumulators are saved less
/// often. Ignored if the journal's interval is 0, which saves after each block.
const SNAPSHOT_OVERHEAD: u32 = 20;

/// The connection of one pass to the journal.
pub(crate) struct PassRecorder<'a> {
    journal: &'a dyn Journal,
    pass: usize,
    id: PassId,
    /// Time at which the next snapshot is due.
    due: Mutex<Instant>,
}

impl<'a> PassRecorder<'a> {
    pub(crate) fn new(journal: &'a dyn Journal, pass: usize, id: PassId) -> Self {
        Self { journal, pass, id, due: Mutex::new(Instant::now() + journal.every()) }
    }

    /// The total of this pass, if it was finished before the fit was interrupted.
    pub(crate) fn total<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.read(self.journal.total(self.pass)?)
    }

    /// The last snapshot of this pass, if it was started before the fit was interrupted.
    pub(crate) fn snapshot<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.read(self.journal.part(self.pass)?)
    }

    fn read<T: DeserializeOwned>(&self, bytes: Option<Vec<u8>>) -> Result<Option<T>> {
        let Some(bytes) = bytes else { return Ok(None) };
        let (id, content) = split_bytes(&bytes, "a pass in a checkpoint")?;
        self.id.expect(&id, self.pass)?;
        from_bytes(content, "an accumulator in a checkpoint").map(Some)
    }

    /// Saves the total.
    pub(crate) fn record_total<T: Serialize>(&self, total: &T) -> Result<()> {
        self.journal.record_total(self.pass, &Payload(&|to| write_bytes(&(&self.id, total), to)))
    }

    /// Saves a snapshot.
    pub(crate) fn record_snapshot<T: Serialize>(&self, state: &T) -> Result<()> {
        self.journal.record_snapshot(self.pass, &Payload(&|to| write_bytes(&(&self.id, state), to)))
    }

    /// The permit to save a snapshot, if one is due and no other thread is saving one.
    pub(crate) fn permit(&self) -> Option<SnapshotPermit<'_>> {
        let due = match self.due.try_lock() {
            Ok(due) => due,
            Err(TryLockError::Poisoned(due)) => due.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let now = Instant::now();
        (*due <= now).then(|| SnapshotPermit { due, since: now, every: self.journal.every() })
    }

    /// To be called after each block: saves a snapshot if one is due, or else stores the progress of the thread's leaf
    /// in `state` for the thread that saves the next one. `stored_at` is the time at which the leaf was last saved or
    /// stored; `single_thread` is true if no other thread fills leaves.
    pub(crate) fn after_block<A: Clone + Serialize>(
        &self,
        state: &PassState<A>,
        own: PartialLeaf<&A>,
        stored_at: &mut Instant,
        single_thread: bool,
    ) -> Result<()> {
        if stored_at.elapsed() < self.journal.every() {
            return Ok(());
        }
        if let Some(permit) = self.permit() {
            if state.snapshot(Some(own), |snapshot| self.record_snapshot(snapshot))? {
                permit.done();
                *stored_at = Instant::now();
            }
        } else if !single_thread {
            state.store(PartialLeaf { leaf: own.leaf, blocks: own.blocks, accumulator: own.accumulator.clone() });
            *stored_at = Instant::now();
        }
        Ok(())
    }
}

/// The permit to save a snapshot; without [`SnapshotPermit::done`] another one is due at once.
pub(crate) struct SnapshotPermit<'a> {
    due: MutexGuard<'a, Instant>,
    since: Instant,
    every: Duration,
}

impl SnapshotPermit<'_> {
    /// Sets the time of the next snapshot, after one was saved.
    pub(crate) fn done(mut self) {
        let now = Instant::now();
        let pause = if self.every.is_zero() { Duration::ZERO } else { SNAPSHOT_OVERHEAD * (now - self.since) };
        *self.due = now + self.every.max(pause);
    }
}
