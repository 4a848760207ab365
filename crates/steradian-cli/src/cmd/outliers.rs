//! `steradian outliers`: flags of samples, their distances, and the features that contribute most.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use steradian::{Diagnosis, ElementType, Error, Flag, Model, Source};
use steradian_io::{Data, NpyWriter, write_atomic};

use crate::apply::sides;
use crate::args::OutliersArgs;
use crate::files;
use crate::outcome::{Outcome, warn};
use crate::plot::Format;
use crate::plot::outlier_map::OutlierMap;
use crate::render::{number, print, print_json, table};
use crate::session::{Session, notes};

/// Features that are named for a sample.
const NAMED_FEATURES: usize = 3;
/// A feature that contributes less than this to a sample's distance is not named.
const NAMED_SHARE: f64 = 0.05;

/// Judges all samples; prints the worst, writes all.
pub fn run(args: &OutliersArgs) -> Outcome {
    for output in args.output.iter().chain(&args.cells) {
        files::require_writable(output)?;
    }
    let plot = args.plot.as_deref().map(|path| Ok::<_, steradian::Error>((path, Format::of(path)?))).transpose()?;
    if let Some((path, _)) = plot {
        files::require_writable(path)?;
    }
    let model = files::read_model(&args.model)?;
    let work = Session::begin(args.threads)?;
    let data = work.open(&args.data, &args.table.options())?;
    model.check_width(data.shape())?;
    let mut found: Vec<Diagnosis> = Vec::with_capacity(data.shape().samples);
    work.runner().for_each_block("distances", &data, model.block_rows(), |block| {
        found.extend(model.diagnose_block(block)?);
        Ok(())
    })?;
    let mask = args.cells.as_deref().map(|path| bad_cells(path, &model, &data, &work)).transpose()?;
    let worst = worst(&found, model.cutoffs, args.top);
    let rows = worst.iter().map(|&i| row(i, &found[i], &model, &data)).collect::<steradian::Result<Vec<_>>>()?;
    let notes = notes(&data);
    work.finish()?;
    mask.map_or(Ok(()), NpyWriter::finish)?;
    if let Some(output) = &args.output {
        write_atomic(output, csv(&found).as_bytes())?;
    }
    if let Some((path, format)) = plot {
        let labels: Vec<_> =
            worst.iter().map(|&i| (i, data.row_name(i).map_or(i.to_string(), str::to_owned))).collect();
        let title = title(&args.data, &model);
        let map = OutlierMap { samples: &found, cutoffs: model.cutoffs, labels: &labels, title: &title };
        write_atomic(path, &format.bytes(&map.scene())?)?;
    }
    notes.iter().for_each(|note| warn(note));
    let counts = Flag::ALL.map(|flag| (flag, found.iter().filter(|d| d.flag == flag).count()));
    if args.json {
        let counts: serde_json::Map<_, _> =
            counts.iter().map(|(flag, count)| (flag.name().to_owned(), json!(count))).collect();
        return print_json(&json!({ "n_samples": found.len(), "counts": counts, "cutoffs": model.cutoffs }));
    }
    let mut text = String::new();
    if !rows.is_empty() {
        let header = ["sample", "score distance", "orthogonal distance", "angle", "flag", "features"];
        text = table(&header, &rows) + "\n";
    }
    text += &summary(&counts, &model);
    for output in args.output.iter().chain(&args.plot).chain(&args.cells) {
        let _ = writeln!(text, "wrote {}", output.display());
    }
    print(&text)
}

/// The mask of cells that do not fit, yet without its name.
fn bad_cells(path: &Path, model: &Model, data: &Data, work: &Session) -> steradian::Result<NpyWriter> {
    work.begin_writing();
    let mut mask = NpyWriter::create(path, ElementType::U8, &sides(data.shape()))?;
    work.runner().for_each_block("cells", data, model.block_rows(), |block| {
        let bad = model.bad_cells_block(block)?.ok_or_else(|| {
            Error::invalid_argument(format!(
                "--cells needs a model that knows how far the cells of each feature may lie off, and this one was fitted by the \
                 method {}; fit with --method cells",
                model.method().name()
            ))
        })?;
        mask.write(&bad.into_iter().map(u8::from).collect::<Vec<_>>())
    })?;
    Ok(mask)
}

/// What stands above the map: whose samples, under which model.
fn title(data: &Path, model: &Model) -> String {
    let name = data.file_name().unwrap_or(data.as_os_str()).to_string_lossy();
    format!("{name}: {}, d = {}", model.config.method.name(), model.n_components())
}

/// The samples furthest beyond a cutoff, the worst first; regular ones are not among them.
fn worst(found: &[Diagnosis], cutoffs: [f64; 2], most: usize) -> Vec<usize> {
    let ratio = |distance: f64, cutoff: f64| if cutoff.is_nan() { 0.0 } else { distance / cutoff };
    let excess = |d: &Diagnosis| ratio(d.score_distance, cutoffs[0]).max(ratio(d.orthogonal_distance, cutoffs[1]));
    let mut order: Vec<usize> = (0..found.len()).filter(|&i| found[i].flag != Flag::Regular).collect();
    order.sort_by(|&a, &b| excess(&found[b]).total_cmp(&excess(&found[a])).then(a.cmp(&b)));
    order.truncate(most);
    order
}

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

/// The features that make most of a sample's distance from the subspace.
fn features(sample: usize, model: &Model, data: &Data) -> steradian::Result<String> {
    let mut shares = Vec::new();
    data.visit(sample..sample + 1, &mut |block| {
        shares = model.contributions_block(&block)?;
        Ok(())
    })?;
    let mut order: Vec<usize> = (0..shares.len()).filter(|&j| shares[j] >= NAMED_SHARE).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
    let name = |j: usize| data.feature_names().map_or_else(|| j.to_string(), |names| names[j].clone());
    let named = order.iter().take(NAMED_FEATURES).map(|&j| format!("{} {:.0} %", name(j), 100.0 * shares[j]));
    Ok(named.collect::<Vec<_>>().join(", "))
}

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
        number(model.cutoffs[0]),
        number(model.cutoffs[1])
    )
}
