//! The plan of a fit: solver, passes, bytes read and peak memory, before the first pass.

use super::cost::{Costs, DECIDING_THREADS, PlanStep};
use crate::config::Config;
use crate::config::options::Solver;
use crate::config::request::Request;
use crate::data::source::{Shape, Source};
use crate::engine::grid::Grid;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};

/// The course and the cost of a fit, estimated from the shape of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The checked configuration.
    pub request: Request,
    /// The solver that will run.
    pub solver: Solver,
    /// Passes over the data; an estimate where an iteration decides.
    pub passes: usize,
    /// Bytes of samples that will be read.
    pub bytes_read: u64,
    /// Threads that the fit uses: those that were asked for, or as many as the memory limit allows.
    pub threads: usize,
    /// Upper bound on the allocated memory, without data in memory and mapped files; it grows with the number of threads.
    pub peak_memory_bytes: u64,
    /// Rows per block.
    pub block_rows: usize,
    /// The stages, in order.
    pub steps: Vec<PlanStep>,
}

impl Plan {
    /// The plan for data of this shape on this many threads.
    ///
    /// # Errors
    /// For a configuration that does not suit the shape or its memory limit.
    pub fn new(config: &Config, shape: &Shape, threads: usize) -> Result<Self> {
        Self::of(Request::new(config, shape, true)?, shape, threads, |_| 0)
    }

    /// The plan for a source, with the memory of its buffers.
    ///
    /// # Errors
    /// For a configuration that does not suit the shape or its memory limit.
    pub fn for_source(config: &Config, source: &dyn Source, threads: usize) -> Result<Self> {
        let request = Request::new(config, source.shape(), true)?;
        Self::of(request, source.shape(), threads, |threads| source.buffer_bytes(threads))
    }

    /// The plan for a source on a runner.
    ///
    /// # Errors
    /// For a configuration that does not suit the shape, the runner or its memory limit.
    pub fn on(config: &Config, source: &dyn Source, runner: &impl Runner) -> Result<Self> {
        let request = Request::new(config, source.shape(), runner.supports_pairs())?;
        Self::of(request, source.shape(), runner.threads(), |threads| source.buffer_bytes(threads))
    }

    /// The plan of a method of another crate from its steps, and from its number of threads and its peak memory on them.
    pub fn from_steps(
        request: Request,
        solver: Solver,
        shape: &Shape,
        steps: Vec<PlanStep>,
        (threads, peak_memory_bytes): (usize, u64),
    ) -> Self {
        Self {
            request,
            solver,
            passes: steps.iter().map(|step| step.passes).sum(),
            bytes_read: steps.iter().map(|step| step.bytes).sum(),
            threads,
            peak_memory_bytes,
            block_rows: Grid::new(shape.samples, shape.features, 0).block_rows(),
            steps,
        }
    }

    /// The plan of a request; `source_bytes` is the memory of the source's buffers for a number of threads.
    fn of(request: Request, shape: &Shape, threads: usize, source_bytes: impl Fn(usize) -> u64) -> Result<Self> {
        let (config, solvers) = (request.config(), request.solvers());
        let on = |threads: usize| Costs { config, shape, threads, source_bytes: source_bytes(threads) };
        let deciding = on(DECIDING_THREADS);
        let solver = match config.solver {
            Solver::Auto => deciding.cheapest(solvers),
            given => given,
        };
        let least = deciding.memory(solver);
        if let Some(limit) = config.memory_limit
            && least > limit
        {
            return Err(Error::OverMemory {
                needed: least,
                limit,
                with: format!("the {} solver on one thread", solver.name()),
                alternative: Some(deciding.min_memory_solver(solvers))
                    .map(|lean| (lean.name(), deciding.memory(lean)))
                    .filter(|(_, bytes)| *bytes < least),
            });
        }
        let peak = threads_within(config.memory_limit, threads, |threads| on(threads).memory(solver));
        let steps = deciding.steps(solver);
        Ok(Self::from_steps(request, solver, shape, steps, peak))
    }
}

/// The largest number of threads, at most `threads`, whose memory is within the limit, and that memory; one thread if no
/// number is.
pub fn threads_within(limit: Option<u64>, threads: usize, memory: impl Fn(usize) -> u64) -> (usize, u64) {
    let limit = limit.unwrap_or(u64::MAX);
    let mut threads = threads.max(1);
    while threads > 1 && memory(threads) > limit {
        threads -= 1;
    }
    (threads, memory(threads))
}
