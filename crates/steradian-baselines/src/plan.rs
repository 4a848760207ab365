//! The plan of a baseline: passes, bytes read and peak memory; and the check of its configuration.

use steradian::config::{Cells, Request, Scaling, Screen};
use steradian::data::{ElementType, Shape};
use steradian::engine::Grid;
use steradian::fit::{PlanStep, program_bytes, threads_within};
use steradian::{Config, Error, Plan, Result, Solver, Source};

use crate::count;
use crate::method::{GA, PCP, TGA, trim};

/// Assumed number of passes of an orthogonal iteration; the actual number depends on the eigenvalue gap.
const EXPECTED_STEPS: usize = 30;
/// Number of D x d blocks in memory during an orthogonal iteration, without the accumulators of a pass.
const BLOCKS: u64 = 10;

/// Scores of the last pass, from which variances come: about 2^20 at most.
const SCORES: u64 = (1 << 20) + (8 << 10);

/// The plan of a fit on this many threads; rejects an invalid configuration and a fit above the memory limit.
pub fn plan(config: &Config, source: &dyn Source, threads: usize) -> Result<Plan> {
    let shape = source.shape();
    let request = check(config, shape)?;
    let (n, features, d) = (shape.samples as u64, shape.features as u64, count(config)? as u64);
    let data = shape.bytes();
    let step = |name: &str, passes: usize| PlanStep { name: name.to_owned(), passes, bytes: passes as u64 * data };
    let mut steps = vec![step("center", 1)];
    let measured = 3 * 8 * n + 2 * 8 * (n * d).min(SCORES) + n;
    let held = |threads: usize| match config.method() {
        GA | TGA => {
            let bytes = if shape.element == ElementType::F64 { 8 } else { 4 };
            // The samples, and partial sums of scores, one per panel of columns.
            n * features * bytes + bytes * n * features.div_ceil(crate::columns::PANEL_COLUMNS as u64)
        }
        PCP => {
            let side = n.min(features);
            let strips = 3 * threads.max(1) as u64 * side * crate::pursuit::STRIP as u64;
            8 * (crate::pursuit::ARRAYS * n * features + crate::pursuit::SQUARES * side * side + strips)
        }
        _ => {
            let block = 8 * features * d.next_multiple_of(8);
            let accumulators =
                Grid::new(shape.samples, shape.features, block as usize).live_accumulators(threads) as u64;
            (BLOCKS + accumulators) * block
        }
    };
    match config.method() {
        GA | TGA => steps.push(step("samples by columns", 1)),
        PCP => steps.push(step("samples", 1)),
        _ => {
            steps.push(step("orthogonal iteration, about", EXPECTED_STEPS));
            steps.push(step("final fit and certificate", 2));
        }
    }
    steps.push(step("variances and cutoffs", 1));
    let vectors = 8 * features * (8 + 2 * d);
    let memory =
        |threads: usize| program_bytes(threads) + source.buffer_bytes(threads) + held(threads) + measured + vectors;
    // What is rejected does not depend on the number of threads.
    if let Some(limit) = config.memory_limit()
        && memory(1) > limit
    {
        return Err(Error::OverMemory {
            needed: memory(1),
            limit,
            with: format!("method {} on one thread", config.method().name()),
            alternative: None,
        });
    }
    let peak = threads_within(config.memory_limit(), threads, memory);
    Ok(Plan::from_steps(request, Solver::Auto, shape, steps, peak))
}

/// Rejects options that baselines do not have, and values out of range.
fn check(config: &Config, shape: &Shape) -> Result<Request> {
    let method = config.method();
    let name = method.name();
    let request = Request::new(config, shape, true)?;
    count(config)?;
    if config.scaling() != Scaling::None || config.screen() != &Screen::None || config.cells() != Cells::Never {
        return Err(Error::invalid_argument(format!("method {name} does not support scaling, screen or cells")));
    }
    if config.solver() != Solver::Auto {
        return Err(Error::invalid_parameter("solver", format!("method {name} has no solver option")));
    }
    let trim = trim(config);
    if !(0.0..=0.5).contains(&trim) {
        let problem = format!("trim = {trim} is not in [0, 0.5]; use a fraction from 0 (mean) to 0.5 (median)");
        return Err(Error::invalid_parameter("trim", problem));
    }
    Ok(request)
}
