//! The plan of a baseline: passes, bytes and memory, and the check of its configuration.

use steradian::{
    Cells, Config, ElementType, Error, Grid, Plan, PlanStep, Request, Result, Scaling, Screen, Shape, Solver, Source,
    format_bytes, program_bytes,
};

use crate::count;
use crate::method::{GA, PCP, TGA, trim};

/// Passes of an orthogonal iteration to its usual tolerance; the gap of the data decides.
const EXPECTED_STEPS: usize = 30;
/// Blocks of D x d that an orthogonal iteration holds at once, beside the sums of a pass.
const BLOCKS: u64 = 10;

/// The plan for these data on this many threads; refuses what cannot be done, with numbers.
pub fn plan(config: &Config, source: &dyn Source, threads: usize) -> Result<Plan> {
    let shape = source.shape();
    check(config, shape)?;
    let (n, features, d) = (shape.samples as u64, shape.features as u64, count(config)? as u64);
    let data = shape.bytes();
    let step = |name: &str, passes: usize| PlanStep { name: name.to_owned(), passes, bytes: passes as u64 * data };
    let mut steps = vec![step("center", 1)];
    let held = match config.method {
        GA | TGA => {
            steps.push(step("samples by columns", 1));
            let number = if shape.element == ElementType::F64 { 8 } else { 4 };
            // Partial sums of scores, one for each panel of columns.
            n * features * number + number * n * features.div_ceil(crate::columns::PANEL_COLUMNS as u64)
        }
        PCP => {
            steps.push(step("samples", 1));
            let side = n.min(features);
            let strips = 3 * threads.max(1) as u64 * side * crate::pursuit::STRIP as u64;
            8 * (crate::pursuit::ARRAYS * n * features + crate::pursuit::SQUARES * side * side + strips)
        }
        _ => {
            let block = 8 * features * d.next_multiple_of(8);
            let sums = Grid::new(shape.samples, shape.features, block as usize).live_accumulators(threads) as u64;
            steps.push(step("orthogonal iteration, about", EXPECTED_STEPS));
            steps.push(step("order of components", 2));
            (BLOCKS + sums) * block
        }
    };
    steps.push(step("variances and cutoffs", 1));
    let peak_memory_bytes =
        program_bytes(threads) + source.buffer_bytes(threads) + held + 8 * 8 * (features + n) + 8 * features * d;
    if let Some(limit) = config.memory_limit
        && peak_memory_bytes > limit
    {
        return Err(Error::invalid_argument(format!(
            "the method {} needs about {} for {n} samples x {features} features but may use {}; allow more, or use a method \
             that works by passes, such as ae or empca",
            config.method.name(),
            format_bytes(peak_memory_bytes),
            format_bytes(limit)
        )));
    }
    Ok(Plan {
        solver: Solver::Auto,
        passes: steps.iter().map(|s| s.passes).sum(),
        bytes_read: steps.iter().map(|s| s.bytes).sum(),
        peak_memory_bytes,
        block_rows: Grid::new(shape.samples, shape.features, 0).block_rows(),
        steps,
    })
}

fn check(config: &Config, shape: &Shape) -> Result<()> {
    let name = config.method.name();
    Request::new(config, shape, true)?;
    count(config)?;
    if config.scaling != Scaling::None || config.screen != Screen::None || config.cells != Cells::Keep {
        return Err(Error::invalid_argument(format!(
            "the method {name} takes all samples as they are; leave scale, screen and cells out"
        )));
    }
    if config.solver != Solver::Auto {
        return Err(Error::invalid_argument(format!("the method {name} iterates on its own; leave the solver out")));
    }
    let trim = trim(config);
    if !(0.0..=0.5).contains(&trim) {
        return Err(Error::invalid_argument(format!(
            "trim = {trim}; it is the fraction left out at each end, from 0 to 0.5, which leaves the median"
        )));
    }
    Ok(())
}
