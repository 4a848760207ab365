//! `steradian fit`: fits a model, writes it and prints a summary.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use steradian::data::Shape;
use steradian::engine::Runner;
use steradian::{Error, Local, Matrix, Model, Plan, Result};
use steradian_baselines::{PCP, any};
use steradian_io::{AtomicFile, Checkpoint, Data, NpyWriter, OutputPath, check_outputs, commit, stage_file};

use crate::HEAP;
use crate::apply::sides;
use crate::args::{CenterChoice, FitArgs};
use crate::checkpoint::FitCheckpoint;
use crate::model_json::model_json;
use crate::outcome::{CommandError, CommandResult, warn};
use crate::render::{bytes, certificate_text, key_value_lines, number, percent, print, print_json, solver_text, table};
use crate::session::{Session, memory_note, notes};
use crate::terminal;

/// Figures of this run, which the model file does not contain.
struct Run {
    seconds: f64,
    peak_memory_bytes: u64,
    warnings: Vec<String>,
}

/// Fits, writes, reports.
pub fn run(args: &FitArgs) -> CommandResult {
    let mut checkpoint = None;
    let outcome = fit(args, &mut checkpoint);
    match (outcome, checkpoint) {
        (Err(CommandError::Failed(error)), Some(checkpoint)) => Err(checkpoint.stop(error)),
        (outcome, _) => outcome,
    }
}

/// Fits, writes and reports; after an error, `opened` holds the checkpoint if it was opened.
fn fit(args: &FitArgs, opened: &mut Option<FitCheckpoint>) -> CommandResult {
    check(args)?;
    let (config, missing) = args.missing.applied_to(args.options.config()?);
    for (option, path) in [("--low-rank", &args.low_rank), ("--sparse", &args.sparse)] {
        if path.is_some() && config.method() != PCP {
            return Err(Error::invalid_argument(format!("{option} applies only to --method pcp")).into());
        }
    }
    FitCheckpoint::check(args, &config)?;
    let mut work = Session::begin(args.options.threads)?;
    let start = Instant::now();
    let (options, limits) = (args.table.options(missing), args.decoding.limits());
    let (data, plan) = work.open_for(&args.data, &options, &args.selection, &limits, &config)?;
    let fewer_threads = memory_note(&plan, work.runner().threads());
    if let Some(checkpoint) = FitCheckpoint::begin(args, &plan, &data, &work)? {
        work = work.with_journal(opened.insert(checkpoint).journal());
    }
    let mut fitted = FitOutputs::new(args, &plan, &data, work.runner())?;
    let parts = fitted.model.shape.clone();
    if let Some((rows, samples)) = data.fitted_rows() {
        fitted.model = fitted.model.among(rows, samples);
    }
    let model = &fitted.model;
    let seconds = start.elapsed().as_secs_f64();
    let file = model.to_bytes()?;
    work.begin_writing();
    let mut files = fitted.write_parts(args, &parts)?;
    files.push(stage_file(&args.output, &file)?);
    work.finish()?;
    commit(files)?;
    let mut warnings = [notes(&data), model.report.warnings.clone()].concat();
    warnings.extend(fewer_threads);
    warnings.iter().for_each(|warning| warn(warning));
    if let Some(checkpoint) = opened.take() {
        warnings.extend(checkpoint.finish());
    }
    let run = Run { seconds, peak_memory_bytes: HEAP.peak_usage() as u64, warnings };
    if args.json {
        print_json(&json(model, &run))
    } else {
        print(&format!("{}\nwrote {}\n", summary(model, &run), terminal::path(&args.output)))
    }
}

/// Rejects outputs that would replace an input or each other, before anything is read.
fn check(args: &FitArgs) -> Result<()> {
    let center = match &args.options.center {
        Some(CenterChoice::File(path)) => Some(path),
        _ => None,
    };
    let selection = args.selection.missing_mask.iter().chain(&args.selection.exclude);
    let inputs: Vec<&Path> = [&args.data].into_iter().chain(center).chain(selection).map(PathBuf::as_path).collect();
    let checkpoint = args.checkpoint.as_ref().map(Checkpoint::paths).into_iter().flatten().collect::<Vec<_>>();
    let outputs = [&args.output].into_iter().chain(&args.low_rank).chain(&args.sparse).chain(&checkpoint);
    check_outputs(&inputs, &outputs.map(|path| OutputPath::File(path)).collect::<Vec<_>>())
}

/// A model, and the low-rank and sparse parts of pcp if they are requested.
struct FitOutputs {
    model: Model,
    low_rank: Option<Matrix>,
    sparse: Option<Matrix>,
}

impl FitOutputs {
    fn new(args: &FitArgs, plan: &Plan, data: &Data, runner: &Local) -> Result<Self> {
        if args.low_rank.is_some() || args.sparse.is_some() {
            let found = steradian_baselines::run_pursuit(plan, data, runner)?;
            return Ok(Self { model: found.model, low_rank: Some(found.low_rank), sparse: Some(found.sparse) });
        }
        let model = any::run(plan, data, runner)?;
        Ok(Self { model, low_rank: None, sparse: None })
    }

    /// Writes the requested parts, in the shape of the data, to files that are not yet in place.
    fn write_parts(&self, args: &FitArgs, shape: &Shape) -> Result<Vec<AtomicFile>> {
        let element = Model::output_element(shape.element);
        let parts = [(&args.low_rank, &self.low_rank), (&args.sparse, &self.sparse)];
        let requested = parts.into_iter().filter_map(|(path, part)| Some((path.as_ref()?, part.as_ref()?)));
        requested
            .map(|(path, part)| {
                let mut writer = NpyWriter::create(path, element, &sides(shape))?;
                let rows = self.model.block_rows() * shape.features;
                part.data().chunks(rows).try_for_each(|rows| writer.write(rows))?;
                writer.into_file()
            })
            .collect()
    }
}

/// The object that `--json` prints; null where a figure does not apply or is NaN.
fn json(model: &Model, run: &Run) -> Value {
    let mut keys = model_json(model);
    keys.insert("seconds".into(), json!(run.seconds));
    keys.insert("peak_memory_bytes".into(), json!(run.peak_memory_bytes));
    keys.insert("warnings".into(), json!(run.warnings));
    keys.into()
}

fn summary(model: &Model, run: &Run) -> String {
    let n = model.shape.samples;
    let mut lines = vec![
        ("method", model.method().name().to_string()),
        ("solver", solver_text(model)),
        ("data", format!("{n} samples x {} features, {}", model.n_features(), model.shape.element)),
        ("support", format!("{} of {n} ({})", model.n_support(), percent(model.n_support() as f64 / n as f64))),
    ];
    if let Some(cone) = &model.report.cone {
        let angle = number(cone.max_angle);
        lines.push((
            "cone",
            format!("max angle {angle} degrees, pivot sample {}, {} samples outside", cone.pivot, cone.tau_min()),
        ));
    }
    if let Some(reason) = &model.report.n_components_reason {
        lines.push(("components", reason.clone()));
    }
    if let Some(cells) = &model.diagnostics.cells {
        lines.push(("cleaned cells", percent(cells.fraction)));
    }
    if let (Some(first), Some(last)) = (model.report.objective.first(), model.report.objective.last()) {
        lines.push(("objective", format!("{} at the start, {} at the end", number(*first), number(*last))));
    }
    if !model.report.iterations.is_empty() {
        let iterations: Vec<String> = model.report.iterations.iter().map(usize::to_string).collect();
        lines.push(("iterations", iterations.join(", ")));
    }
    lines.extend([
        ("certificate", certificate_text(&model.report.certificate)),
        ("passes", model.report.passes.to_string()),
        ("wall time", format!("{} s", number(run.seconds))),
        ("peak heap", bytes(run.peak_memory_bytes)),
    ]);
    format!("{}\n{}", key_value_lines(&lines), components(model))
}

/// The importance of the components: standard deviation, fraction of the variance, its running sum, and the eigenvalue on the
/// sphere where the method has one.
pub fn components(model: &Model) -> String {
    let angular = model.subspace.angular_eigenvalues.as_ref();
    let mut header = vec![
        "component",
        "standard deviation",
        "explained variance",
        "proportion of variance",
        "cumulative proportion",
    ];
    header.extend(angular.map(|_| "angular eigenvalue"));
    let total = model.diagnostics.total_variance.unwrap_or(f64::NAN);
    let mut sum = 0.0;
    let row = |(k, variance): (usize, &f64)| {
        sum += variance;
        let mut cells = vec![k.to_string(), number(variance.sqrt()), number(*variance)];
        cells.extend([variance / total, sum / total].map(proportion));
        cells.extend(angular.map(|values| number(values[k])));
        cells
    };
    let rows: Vec<_> = model.diagnostics.explained_variance.iter().enumerate().map(row).collect();
    table(&header, &rows)
}

/// A fraction with four decimals; `-` if it is not finite.
fn proportion(fraction: f64) -> String {
    if fraction.is_finite() { format!("{fraction:.4}") } else { "-".into() }
}
