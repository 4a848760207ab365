//! `steradian outliers`: flags and distances of samples, and the features that contribute most to them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use steradian::data::ElementType;
use steradian::engine::Runner;
use steradian::model::{Diagnosis, Flag};
use steradian::{Error, Model, Source};
use steradian_io::{Data, NpyWriter, OutputPath, check_outputs, commit, stage_file};

use crate::apply::sides;
use crate::args::OutliersArgs;
use crate::files;
use crate::outcome::{CommandResult, warn};
use crate::plot::Format;
use crate::plot::outlier_map::OutlierMap;
use crate::render::{number, print, print_json, table};
use crate::session::{Session, notes};
use crate::terminal;

/// Largest number of features in the row of a sample.
const MAX_FEATURES: usize = 3;
/// Smallest contribution of a listed feature, as a fraction of the squared distance.
const MIN_CONTRIBUTION: f64 = 0.05;

/// Flags all samples; prints the most extreme ones, writes all.
pub fn run(args: &OutliersArgs) -> CommandResult {
    let plot = args.plot.as_deref().map(|path| Ok::<_, steradian::Error>((path, Format::of(path)?))).transpose()?;
    let outputs: Vec<&PathBuf> = args.output.iter().chain(&args.plot).chain(&args.cells).collect();
    let checked: Vec<OutputPath<'_>> = outputs.iter().map(|path| OutputPath::File(path)).collect();
    check_outputs(&[&args.model, &args.data], &checked)?;
    let model = files::read_model(&args.model)?;
    let work = Session::begin(args.threads)?;
    let data =
        work.open(&args.data, &args.table.options(args.missing.rule(model.config.missing())), &args.decoding.limits())?;
    model.check_features(&data)?;
    let mut found: Vec<Diagnosis> = Vec::with_capacity(data.shape().samples);
    work.runner().for_each_block("distances", &data, model.block_rows(), |block| {
        found.extend(model.diagnose_block(block)?);
        Ok(())
    })?;
    let mask = args.cells.as_deref().map(|path| bad_cells(path, &model, &data, &work)).transpose()?;
    let extreme = most_extreme(&found, model.diagnostics.cutoffs, args.top);
    // On the threads of the runner: products outside of it would start rayon's global pool.
    let rows = work
        .runner()
        .compute(|| extreme.iter().map(|&i| row(i, &found[i], &model, &data)).collect::<steradian::Result<Vec<_>>>())?;
    let notes = notes(&data);
    work.begin_writing();
    let mut files = Vec::new();
    files.extend(mask.map(NpyWriter::into_file).transpose()?);
    if let Some(output) = &args.output {
        files.push(stage_file(output, csv(&found).as_bytes())?);
    }
    if let Some((path, format)) = plot {
        let labels: Vec<_> =
            extreme.iter().map(|&i| (i, data.row_name(i).map_or(i.to_string(), str::to_owned))).collect();
        let title = title(&args.data, &model);
        let map = OutlierMap { samples: &found, cutoffs: model.diagnostics.cutoffs, labels: &labels, title: &title };
        files.push(stage_file(path, &format.bytes(&map.drawing())?)?);
    }
    work.finish()?;
    commit(files)?;
    notes.iter().for_each(|note| warn(note));
    let counts = Flag::ALL.map(|flag| (flag, found.iter().filter(|d| d.flag == flag).count()));
    if args.json {
        let counts: serde_json::Map<_, _> =
            counts.iter().map(|(flag, count)| (flag.name().to_owned(), json!(count))).collect();
        return print_json(
            &json!({ "n_samples": found.len(), "counts": counts, "cutoffs": model.diagnostics.cutoffs }),
        );
    }
    let mut text = String::new();
    if !rows.is_empty() {
        let header = ["sample", "score distance", "orthogonal distance", "angle", "flag", "features"];
        text = table(&header, &rows) + "\n";
    }
    text += &summary(&counts, &model);
    for output in outputs {
        let _ = writeln!(text, "wrote {}", terminal::path(output));
    }
    print(&text)
}

/// Writes the mask of bad cells to a file that is not yet renamed into place.
fn bad_cells(path: &Path, model: &Model, data: &Data, work: &Session) -> steradian::Result<NpyWriter> {
    work.begin_writing();
    let mut mask = NpyWriter::create(path, ElementType::U8, &sides(data.shape()))?;
    work.runner().for_each_block("cells", data, model.block_rows(), |block| {
        let bad = model.bad_cells_block(block)?.ok_or_else(|| {
            Error::invalid_argument(format!(
                "--cells requires a model fitted with --method cells, got {}",
                model.method().name()
            ))
        })?;
        mask.write(&bad.into_iter().map(u8::from).collect::<Vec<_>>())
    })?;
    Ok(mask)
}

/// Title of the outlier map: data file, method and number of components.
fn title(data: &Path, model: &Model) -> String {
    let name = data.file_name().unwrap_or(data.as_os_str()).to_string_lossy();
    format!("{name}: {}, d = {}", model.config.method().name(), model.n_components())
}

/// Indices of the `count` flagged samples that exceed a cutoff by the largest factor, the largest first.
fn most_extreme(found: &[Diagnosis], cutoffs: [f64; 2], count: usize) -> Vec<usize> {
    let ratio = |distance: f64, cutoff: f64| if cutoff.is_nan() { 0.0 } else { distance / cutoff };
    let excess = |d: &Diagnosis| ratio(d.score_distance, cutoffs[0]).max(ratio(d.orthogonal_distance, cutoffs[1]));
    let mut order: Vec<usize> = (0..found.len()).filter(|&i| found[i].flag != Flag::Regular).collect();
    order.sort_by(|&a, &b| excess(&found[b]).total_cmp(&excess(&found[a])).then(a.cmp(&b)));
    order.truncate(count);
    order
}

/// The row of a sample in the printed table.
fn row(sample: usize, d: &Diagnosis, model: &Model, data: &Data) -> steradian::Result<Vec<String>> {
    let name = data.row_name(sample).map_or_else(|| sample.to_string(), |name| format!("{sample} ({name})"));
    Ok(vec![
        name,
        number(d.score_distance),
        number(d.orthogonal_distance),
        number(d.angle_degrees),
        d.flag.name().into(),
        features(sample, model, data)?,
    ])
}

/// The features with the largest contributions to the orthogonal distance of a sample.
fn features(sample: usize, model: &Model, data: &Data) -> steradian::Result<String> {
    let mut contributions = Vec::new();
    data.visit(sample..sample + 1, &mut |block| {
        contributions = model.contributions_block(&block)?;
        Ok(())
    })?;
    let mut order: Vec<usize> = (0..contributions.len()).filter(|&j| contributions[j] >= MIN_CONTRIBUTION).collect();
    order.sort_by(|&a, &b| contributions[b].total_cmp(&contributions[a]).then(a.cmp(&b)));
    let name = |j: usize| data.feature_names().map_or_else(|| j.to_string(), |names| names[j].clone());
    let named = order.iter().take(MAX_FEATURES).map(|&j| format!("{} {:.0} %", name(j), 100.0 * contributions[j]));
    Ok(named.collect::<Vec<_>>().join(", "))
}

/// The table of all samples as CSV.
fn csv(found: &[Diagnosis]) -> String {
    let mut text = String::from("sample,score_distance,orthogonal_distance,angle_degrees,flag\n");
    for (sample, d) in found.iter().enumerate() {
        let _ = writeln!(
            text,
            "{sample},{:?},{:?},{:?},{}",
            d.score_distance,
            d.orthogonal_distance,
            d.angle_degrees,
            d.flag.name()
        );
    }
    text
}

fn summary(counts: &[(Flag, usize)], model: &Model) -> String {
    let n: usize = counts.iter().map(|(_, count)| count).sum();
    let parts: Vec<_> = counts.iter().map(|(flag, count)| format!("{count} {}", flag.name())).collect();
    format!(
        "{n} samples: {}; cutoffs: score distance {}, orthogonal distance {}\n",
        parts.join(", "),
        number(model.diagnostics.cutoffs[0]),
        number(model.diagnostics.cutoffs[1])
    )
}
