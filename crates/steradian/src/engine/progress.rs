//! Progress reports and the token that cancels running work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// A flag that cancels running work; clones share it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Cancels the work; it stops at the next block.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the work was canceled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// The progress of a pass or of an iteration in memory.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Name of the pass.
    pub name: &'static str,
    /// 1-based index of the pass of this runner.
    pub pass: usize,
    /// Bytes of samples read so far in this pass.
    pub bytes: u64,
    /// Bytes of samples that this pass reads in all.
    pub total_bytes: u64,
    /// The step of an iteration in memory, between passes.
    pub iteration: Option<Iteration>,
}

/// One step of an iteration in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// 1-based index of the step.
    pub step: usize,
    /// The quantity that must fall below the tolerance: the change per step, or the relative residual.
    pub residual: f64,
    /// Rank of the low-rank part, if the method has one.
    pub rank: Option<usize>,
}

pub(super) type Observer = Arc<dyn Fn(Progress) + Send + Sync>;
