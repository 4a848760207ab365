//! The plan: which solver, how many passes, how many bytes, how much memory, before anything heavy happens.

use super::cost::{Costs, DECIDING_THREADS, PlanStep};
use crate::config::Config;
use crate::config::options::Solver;
use crate::config::request::Request;
use crate::data::source::{Shape, Source};
use crate::engine::grid::Grid;
use crate::error::{Error, Result};

/// What a fit will do and cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The solver that will run.
    pub solver: Solver,
    /// Passes over the data; an estimate where an iteration decides.
    pub passes: usize,
    /// Bytes of samples that will be read.
    pub bytes_read: u64,
    /// The most memory that will be allocated at once: all but data in memory and mapped files. It grows with the threads,
    /// and may be over the limit, which is compared with the memory of one thread.
    pub peak_memory_bytes: u64,
    /// Rows of a block.
    pub block_rows: usize,
    /// The stages, in order.
    pub steps: Vec<PlanStep>,
}

impl Plan {
    /// The plan for data of this shape on this many threads; rejects what cannot be done, with numbers.
    pub fn new(config: &Config, shape: &Shape, threads: usize) -> Result<Self> {
        Self::of(&Request::new(config, shape, true)?, shape, threads, |_| 0)
    }

    /// The plan for these data, with the memory that serving them takes.
    pub fn for_source(config: &Config, source: &dyn Source, threads: usize) -> Result<Self> {
        let request = Request::new(config, source.shape(), true)?;
        Self::of(&request, source.shape(), threads, |threads| source.buffer_bytes(threads))
    }

    /// The plan of a request; `source_bytes` is the memory that serving blocks to some threads takes.
    pub(crate) fn of(
        request: &Request<'_>,
        shape: &Shape,
        threads: usize,
        source_bytes: impl Fn(usize) -> u64,
    ) -> Result<Self> {
        let (config, solvers) = (request.config(), request.solvers());
        let on = |threads: usize| Costs { config, shape, threads, source_bytes: source_bytes(threads) };
        let deciding = on(DECIDING_THREADS);
        let solver = match config.solver {
            Solver::Auto => deciding.cheapest(solvers),
            asked => asked,
        };
        let least = deciding.memory(solver);
        if let Some(limit) = config.memory_limit
            && least > limit
        {
            return Err(Error::OverMemory {
                needed: least,
                limit,
                with: format!("the {} solver", solver.name()),
                alternative: Some(deciding.min_memory_solver(solvers))
                    .map(|lean| (lean.name(), deciding.memory(lean)))
                    .filter(|(_, bytes)| *bytes < least),
            });
        }
        let costs = on(threads.max(1));
        let peak_memory_bytes = costs.memory(solver);
        let steps = costs.steps(solver);
        Ok(Self {
            solver,
            passes: steps.iter().map(|s| s.passes).sum(),
            bytes_read: steps.iter().map(|s| s.bytes).sum(),
            peak_memory_bytes,
            block_rows: Grid::new(shape.samples, shape.features, 0).block_rows(),
            steps,
        })
    }
}
