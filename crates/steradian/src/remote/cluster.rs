//! The runner on a cluster: the control flow of a fit runs in this process, passes run where the rows are, and partial
//! results come back.
//!
//! A [`Dispatch`](super::source::Dispatch) knows how to run a [`Job`] on every part of the data and to merge the sums along a fixed tree; Dask's
//! is in the Python package. [`Cluster`] makes a [`Runner`] of it, and [`RemoteSource`] a [`Source`] whose few single samples
//! are fetched when a fit looks at them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::job::Job;
use super::source::RemoteSource;
use crate::data::source::Source;
use crate::engine::fold::{Fold, PairFold};
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};

/// Runs passes where the rows are, and all else on threads of this process.
pub struct Cluster<'a> {
    remote: &'a RemoteSource<'a>,
    local: Local,
    passes: AtomicUsize,
}

impl<'a> Cluster<'a> {
    /// For the rows of `remote` and its views; `local` is for work outside of passes.
    pub fn new(remote: &'a RemoteSource<'a>, local: Local) -> Self {
        Self { remote, local, passes: AtomicUsize::new(0) }
    }
}

impl Runner for Cluster<'_> {
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out> {
        let job = Job::over(fold, source, self.remote)?;
        let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        let sum = self.remote.dispatch().sum(&job, F::NAME, pass)?;
        job.finish(fold, &sum, self.remote.shape().samples)
    }

    fn run_pairs<F: PairFold>(&self, fold: &F, _: &dyn Source, _: usize) -> Result<F::Out> {
        Err(Error::invalid_argument(format!(
            "the pass \"{}\" compares every pair of samples, and on a cluster rows stay where they are; fit on one machine",
            fold.name()
        )))
    }

    fn supports_pairs(&self) -> bool {
        false
    }

    fn compute<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.local.compute(work)
    }

    fn check_cancelled(&self) -> Result<()> {
        self.local.check_cancelled()
    }

    fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    fn threads(&self) -> usize {
        self.local.threads()
    }
}
