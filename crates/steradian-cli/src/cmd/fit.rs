//! `steradian fit`: fit a model, write it, say what came out.

use std::time::Instant;

use serde_json::{Value, json};
use steradian::Model;

use crate::HEAP;
use crate::args::FitArgs;
use crate::files;
use crate::outcome::{Outcome, warn};
use crate::render::{bytes, facts, number, percent, print, print_json, table};
use crate::work::{Work, notes};

/// What only this run knows; the model file holds no times.
struct Run {
    seconds: f64,
    peak_memory_bytes: u64,
    warnings: Vec<String>,
}

/// Fits, writes, reports.
pub fn run(args: &FitArgs) -> Outcome {
    files::require_writable(&args.output)?;
    let config = args.options.config()?;
    let work = Work::begin(args.options.threads)?;
    let start = Instant::now();
    let data = work.open(&args.data, &args.table.options())?;
    let model = steradian::fit(&config, &data, work.runner())?;
    let seconds = start.elapsed().as_secs_f64();
    let file = model.to_bytes()?;
    work.finish()?;
    steradian_io::write_whole(&args.output, &file)?;
    let warnings = [notes(&data), model.warnings.clone()].concat();
    warnings.iter().for_each(|warning| warn(warning));
    let run = Run { seconds, peak_memory_bytes: HEAP.peak_usage() as u64, warnings };
    if args.json {
        print_json(&json(&model, &run))
    } else {
        print(&format!("{}\nwrote {}\n", summary(&model, &run), args.output.display()))
    }
}

/// The one object of `--json`; what does not apply is null, and so is what is not a number.
fn json(model: &Model, run: &Run) -> Value {
    json!({
        "method": model.method().name(),
        "parameters": model.metadata()["parameters"],
        "solver": model.solver().name(),
        "n_samples": model.shape.samples,
        "n_features": model.n_features(),
        "n_components": model.n_components(),
        "n_kept": model.n_kept(),
        "pivot": model.cone.as_ref().map(|cone| cone.pivot),
        "tau_min": model.cone.as_ref().map(|cone| cone.tau_min()),
        "angular_shares": model.shares,
        "variances": model.variances,
        "passes": model.passes,
        "residual": model.certificate.residual,
        "sine_bound": model.certificate.sine_bound,
        "converged": model.certificate.converged,
        "seconds": run.seconds,
        "peak_memory_bytes": run.peak_memory_bytes,
        "warnings": run.warnings,
    })
}

fn summary(model: &Model, run: &Run) -> String {
    let certificate = &model.certificate;
    let n = model.shape.samples;
    let mut lines = vec![
        ("method", model.method().name().to_string()),
        ("solver", model.solver().name().to_string()),
        ("data", format!("{n} samples x {} features, {}", model.n_features(), model.shape.element)),
        ("kept", format!("{} of {n} ({})", model.n_kept(), percent(model.n_kept() as f64 / n as f64))),
    ];
    if let Some(cone) = &model.cone {
        let angle = number(cone.angle_degrees);
        lines.push(("cone", format!("{angle} degrees around sample {}, {} outside", cone.pivot, cone.tau_min())));
    }
    if let Some(reason) = &model.chosen {
        lines.push(("components", reason.clone()));
    }
    if let Some(cells) = &model.cells {
        lines.push(("cleaned cells", percent(cells.share)));
    }
    if let (Some(first), Some(last)) = (model.objective.first(), model.objective.last()) {
        lines.push(("sum of sines", format!("{} at the start, {} at the end", number(*first), number(*last))));
    }
    let reached = if certificate.converged { "converged" } else { "NOT converged" };
    lines.extend([
        (
            "certificate",
            format!("{reached}: sine at most {:.1e}, residual {:.1e}", certificate.sine_bound, certificate.residual),
        ),
        ("passes", model.passes.to_string()),
        ("time", format!("{} s", number(run.seconds))),
        ("memory", format!("{} of heap at most", bytes(run.peak_memory_bytes))),
    ]);
    format!("{}\n{}", facts(&lines), components(model))
}

/// The table of components.
pub fn components(model: &Model) -> String {
    let row = |k: usize| {
        let share = model.shares.as_ref().map_or("-".into(), |shares| percent(shares[k]));
        vec![k.to_string(), share, number(model.variances[k])]
    };
    let rows: Vec<_> = (0..model.n_components()).map(row).collect();
    table(&["component", "angular share", "variance"], &rows)
}
