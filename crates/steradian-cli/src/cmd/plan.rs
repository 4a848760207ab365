//! `steradian plan`: what a fit would cost.

use serde_json::json;
use steradian::{Plan, Runner, Source};

use crate::args::PlanArgs;
use crate::outcome::Outcome;
use crate::render::{bytes, facts, print, print_json, solver_name, table};
use crate::work::Work;

/// Plans and prints.
pub fn run(args: &PlanArgs) -> Outcome {
    let config = args.options.config()?;
    let work = Work::begin(args.options.threads)?;
    let data = work.open(&args.data, &args.table.options())?;
    let shape = data.shape();
    let plan = match config.method.is_baseline() {
        true => steradian_baselines::plan(&config, shape, work.runner().threads())?,
        false => Plan::new(&config, shape, work.runner().threads())?,
    };
    work.finish()?;
    if args.json {
        return print_json(&json!({
            "solver": solver_name(config.method, plan.solver),
            "passes": plan.passes,
            "bytes_read": plan.bytes_read,
            "peak_memory_bytes": plan.peak_memory_bytes,
            "block_rows": plan.block_rows,
        }));
    }
    let steps: Vec<_> =
        plan.steps.iter().map(|step| vec![step.name.clone(), step.passes.to_string(), bytes(step.bytes)]).collect();
    let lines = facts(&[
        ("data", format!("{} samples x {} features, {}", shape.samples, shape.features, shape.element)),
        ("method", config.method.name().into()),
        ("solver", solver_name(config.method, plan.solver).unwrap_or("its own iteration").into()),
        ("passes", plan.passes.to_string()),
        ("bytes read", bytes(plan.bytes_read)),
        ("peak memory", bytes(plan.peak_memory_bytes)),
        ("block", format!("{} rows", plan.block_rows)),
    ]);
    print(&format!("{lines}\n{}", table(&["step", "passes", "reads"], &steps)))
}
