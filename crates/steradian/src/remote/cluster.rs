//! The runner on a cluster: the driver runs the control flow of a fit, each worker reduces its partition in a pass, and
//! the driver receives one partial result.
//!
//! A [`Dispatch`](super::source::Dispatch) runs a [`Job`] on every part of the data and merges the partial results
//! along a fixed tree; those for Dask and Spark are in the Python package. [`Cluster`] is the [`Runner`] on top of it,
//! and [`RemoteSource`] the [`Source`], which fetches single samples when a fit reads them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::job::Job;
use super::source::RemoteSource;
use crate::data::source::Source;
use crate::engine::fold::{Fold, PairFold};
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};

/// The runner that sends passes to the workers and runs all other work on threads of this process.
pub struct Cluster<'a> {
    remote: &'a RemoteSource<'a>,
    local: Local,
    passes: AtomicUsize,
}

impl<'a> Cluster<'a> {
    /// A runner for the rows of `remote` and its views; `local` runs the work outside of passes.
    pub fn new(remote: &'a RemoteSource<'a>, local: Local) -> Self {
        Self { remote, local, passes: AtomicUsize::new(0) }
    }
}

impl Runner for Cluster<'_> {
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out> {
        let job = Job::over(fold, source, self.remote)?;
        let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        let total = self.remote.dispatch().sum(&job, F::NAME, pass)?;
        job.finish(fold, &total, self.remote.shape().samples)
    }

    fn run_pairs<F: PairFold>(&self, fold: &F, _: &dyn Source, _: usize) -> Result<F::Out> {
        Err(Error::invalid_argument(format!(
            "the pass \"{}\" compares every pair of samples, which a cluster does not support; fit on one machine",
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
