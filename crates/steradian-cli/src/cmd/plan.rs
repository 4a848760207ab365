//! `steradian plan`: estimates solver, passes, bytes read and peak memory of a fit without running it.

use serde_json::json;
use steradian::Source;
use steradian::engine::Runner;
use steradian_io::StreamedNpySource;

use crate::args::PlanArgs;
use crate::outcome::{CommandResult, warn};
use crate::render::{BASELINE_SOLVER, bytes, key_value_lines, number, print, print_json, solver_name, table};
use crate::session::{Session, memory_note};

/// Plans and prints.
pub fn run(args: &PlanArgs) -> CommandResult {
    let (config, missing) = args.missing.applied_to(args.options.config()?);
    let work = Session::begin(args.options.threads)?;
    let (options, limits) = (args.table.options(missing), args.decoding.limits());
    let (data, plan) = work.open_for(&args.data, &options, &args.selection, &limits, &config)?;
    let shape = data.shape();
    if let Some(warning) = memory_note(&plan, work.runner().threads()) {
        warn(&warning);
    }
    let rate = data.streamed().map(StreamedNpySource::measure_read_rate).transpose()?;
    work.finish()?;
    if args.json {
        let mut object = json!({
            "solver": solver_name(config.method(), plan.solver),
            "passes": plan.passes,
            "bytes_read": plan.bytes_read,
            "peak_memory_bytes": plan.peak_memory_bytes,
            "block_rows": plan.block_rows,
        });
        if let Some(rate) = rate {
            object["read_bytes_per_second"] = json!(rate);
            object["read_seconds"] = json!(plan.bytes_read as f64 / rate);
        }
        return print_json(&object);
    }
    let steps: Vec<_> =
        plan.steps.iter().map(|step| vec![step.name.clone(), step.passes.to_string(), bytes(step.bytes)]).collect();
    let mut lines = vec![
        ("data", format!("{} samples x {} features, {}", shape.samples, shape.features, shape.element)),
        ("method", config.method().name().into()),
        ("solver", solver_name(config.method(), plan.solver).unwrap_or(BASELINE_SOLVER).into()),
        ("passes", plan.passes.to_string()),
        ("bytes read", bytes(plan.bytes_read)),
        ("peak memory", bytes(plan.peak_memory_bytes)),
        ("block", format!("{} rows", plan.block_rows)),
    ];
    if let (Some(array), Some(rate)) = (data.streamed(), rate) {
        let (chunks, chunk) = array.ring();
        let way = if array.is_direct() { "direct I/O" } else { "page cache" };
        lines.push(("streamed", format!("{way}, {chunks} x {} buffers", bytes(chunk as u64))));
        let seconds = number(plan.bytes_read as f64 / rate);
        lines.push(("estimated read time", format!("{seconds} s at {}/s (measured)", bytes(rate as u64))));
    }
    print(&format!("{}\n{}", key_value_lines(&lines), table(&["step", "passes", "bytes read"], &steps)))
}
