//! `steradian fit`: fit a model, write it, print a summary.

use std::time::Instant;

use serde_json::{Value, json};
use steradian::{Config, Error, Local, Matrix, Model, Result, Runner};
use steradian_baselines::{PCP, any};
use steradian_io::{Data, NpyWriter};

use crate::HEAP;
use crate::apply::sides;
use crate::args::FitArgs;
use crate::checkpoint::FitCheckpoint;
use crate::files;
use crate::outcome::{CommandError, Outcome, warn};
use crate::render::{
    bytes, certificate_text, key_value_lines, number, percent, print, print_json, solver_name, solver_text, table,
};
use crate::session::{Session, memory_note, notes};

/// What only this run knows; the model file holds no times.
struct Run {
    seconds: f64,
    peak_memory_bytes: u64,
    warnings: Vec<String>,
}

/// Fits, writes, reports.
pub fn run(args: &FitArgs) -> Outcome {
    let mut kept = None;
    let outcome = fit(args, &mut kept);
    match (outcome, kept) {
        (Err(CommandError::Failed(error)), Some(kept)) => Err(kept.stop(error)),
        (outcome, _) => outcome,
    }
}

/// The same, with the checkpoint left behind where something went wrong after it was opened.
fn fit(args: &FitArgs, kept: &mut Option<FitCheckpoint>) -> Outcome {
    files::require_writable(&args.output)?;
    let config = args.options.config()?;
    for (option, path) in [("--low-rank", &args.low_rank), ("--sparse", &args.sparse)] {
        let Some(path) = path else { continue };
        if config.method != PCP {
            return Err(Error::invalid_argument(format!(
                "{option} is a part that --method {} does not find; use --method pcp or leave {option} out",
                config.method.name()
            ))
            .into());
        }
        files::require_writable(path)?;
    }
    FitCheckpoint::check(args, &config)?;
    let mut work = Session::begin(args.options.threads)?;
    let start = Instant::now();
    let data = work.open_for(&args.data, &args.table.options(), &config)?;
    let over_memory = memory_note(&config, &data, work.runner().threads())?;
    if let Some(checkpoint) = FitCheckpoint::begin(args, &config, &data, &work)? {
        work = work.with_journal(kept.insert(checkpoint).journal());
    }
    let fitted = FitOutputs::new(args, &config, &data, work.runner())?;
    let model = &fitted.model;
    let seconds = start.elapsed().as_secs_f64();
    let file = model.to_bytes()?;
    work.begin_writing();
    let parts = fitted.write_parts(args)?;
    work.finish()?;
    parts.into_iter().try_for_each(NpyWriter::finish)?;
    steradian_io::write_atomic(&args.output, &file)?;
    let mut warnings = [notes(&data), model.warnings.clone()].concat();
    warnings.extend(over_memory);
    warnings.iter().for_each(|warning| warn(warning));
    if let Some(checkpoint) = kept.take() {
        warnings.extend(checkpoint.finish());
    }
    let run = Run { seconds, peak_memory_bytes: HEAP.peak_usage() as u64, warnings };
    if args.json {
        print_json(&json(model, &run))
    } else {
        print(&format!("{}\nwrote {}\n", summary(model, &run), args.output.display()))
    }
}

/// A model, and the parts that only the pursuit finds and only when they are asked for.
struct FitOutputs {
    model: Model,
    low_rank: Option<Matrix>,
    sparse: Option<Matrix>,
}

impl FitOutputs {
    fn new(args: &FitArgs, config: &Config, data: &Data, runner: &Local) -> Result<Self> {
        if args.low_rank.is_some() || args.sparse.is_some() {
            let found = steradian_baselines::principal_component_pursuit(config, data, runner)?;
            return Ok(Self { model: found.model, low_rank: Some(found.low_rank), sparse: Some(found.sparse) });
        }
        let model = any::fit(config, data, runner)?;
        Ok(Self { model, low_rank: None, sparse: None })
    }

    /// The parts that are asked for, in the shape of the data, yet without their names.
    fn write_parts(&self, args: &FitArgs) -> Result<Vec<NpyWriter>> {
        let shape = &self.model.shape;
        let element = Model::output_element(shape.element);
        let parts = [(&args.low_rank, &self.low_rank), (&args.sparse, &self.sparse)];
        let asked = parts.into_iter().filter_map(|(path, part)| Some((path.as_ref()?, part.as_ref()?)));
        asked
            .map(|(path, part)| {
                let mut writer = NpyWriter::create(path, element, &sides(shape))?;
                let rows = self.model.block_rows() * shape.features;
                part.data().chunks(rows).try_for_each(|rows| writer.write(rows))?;
                Ok(writer)
            })
            .collect()
    }
}

/// The one object of `--json`; what does not apply is null, and so is what is not a number.
fn json(model: &Model, run: &Run) -> Value {
    json!({
        "method": model.method().name(),
        "parameters": model.metadata()["parameters"],
        "solver": solver_name(model.method(), model.solver()),
        "n_samples": model.shape.samples,
        "n_features": model.n_features(),
        "n_components": model.n_components(),
        "n_kept": model.n_support(),
        "pivot": model.cone.as_ref().map(|cone| cone.pivot),
        "tau_min": model.cone.as_ref().map(|cone| cone.tau_min()),
        "angular_shares": model.angular_eigenvalues,
        "variances": model.explained_variance,
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
    let n = model.shape.samples;
    let mut lines = vec![
        ("method", model.method().name().to_string()),
        ("solver", solver_text(model)),
        ("data", format!("{n} samples x {} features, {}", model.n_features(), model.shape.element)),
        ("kept", format!("{} of {n} ({})", model.n_support(), percent(model.n_support() as f64 / n as f64))),
    ];
    if let Some(cone) = &model.cone {
        let angle = number(cone.angle_degrees);
        lines.push(("cone", format!("{angle} degrees around sample {}, {} outside", cone.pivot, cone.tau_min())));
    }
    if let Some(reason) = &model.n_components_reason {
        lines.push(("components", reason.clone()));
    }
    if let Some(cells) = &model.cells {
        lines.push(("cleaned cells", percent(cells.share)));
    }
    if let (Some(first), Some(last)) = (model.objective.first(), model.objective.last()) {
        lines.push(("sum of sines", format!("{} at the start, {} at the end", number(*first), number(*last))));
    }
    if !model.iterations.is_empty() {
        let steps: Vec<String> = model.iterations.iter().map(usize::to_string).collect();
        lines.push(("steps", steps.join(", ")));
    }
    lines.extend([
        ("certificate", certificate_text(&model.certificate)),
        ("passes", model.passes.to_string()),
        ("time", format!("{} s", number(run.seconds))),
        ("memory", format!("{} of heap at most", bytes(run.peak_memory_bytes))),
    ]);
    format!("{}\n{}", key_value_lines(&lines), components(model))
}

/// The table of components.
pub fn components(model: &Model) -> String {
    let row = |k: usize| {
        let share = model.angular_eigenvalues.as_ref().map_or("-".into(), |shares| percent(shares[k]));
        vec![k.to_string(), share, number(model.explained_variance[k])]
    };
    let rows: Vec<_> = (0..model.n_components()).map(row).collect();
    table(&["component", "angular share", "variance"], &rows)
}
