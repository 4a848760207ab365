//! Progress reports and the token that cancels running work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Tells running work to stop; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the work to stop at the next block.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether stopping was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Where a pass stands.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What the pass does.
    pub name: &'static str,
    /// The how-manieth pass of this runner, from 1.
    pub pass: usize,
    /// Bytes of samples read in this pass.
    pub bytes: u64,
    /// Bytes this pass will read.
    pub total_bytes: u64,
    /// Where an iteration stands that works in memory, between passes.
    pub iteration: Option<Iteration>,
}

/// One step of an iteration in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// The how-manieth step, from 1.
    pub step: usize,
    /// What is to become small: the change, or the relative residual.
    pub residual: f64,
    /// The rank of the low-rank part, where there is one.
    pub rank: Option<usize>,
}

pub(super) type Observer = Box<dyn Fn(Progress) + Send + Sync>;
