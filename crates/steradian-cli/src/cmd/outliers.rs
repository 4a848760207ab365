//! `steradian outliers`: flags and distances of samples, bad cells, and the features that contribute most to the distances.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use steradian::engine::Runner;
use steradian::memory;
use steradian::model::{CellFlag, CutoffKind, Diagnosis, Flag};
use steradian::{Error, Model, Source};
use steradian_io::{AtomicFile, Data, OutputPath, check_outputs, commit, stage_file};

use crate::args::{MapRows, OutliersArgs};
use crate::cells::{CellCounts, CellsFile, CellsFormat, has_cell_scales, require_cell_scales};
use crate::files;
use crate::outcome::{CommandResult, warn};
use crate::plot::Format;
use crate::plot::cell_grid::{CELL_CUTOFF, CellGrid, MapCell};
use crate::plot::cell_map::{CellMap, RowMark};
use crate::plot::outlier_map::OutlierMap;
use crate::render::{number, print, print_json, table};
use crate::session::{Session, notes};
use crate::terminal;

/// Largest number of features in the row of a sample.
const MAX_FEATURES: usize = 3;
/// Smallest contribution of a listed feature, as a fraction of the squared distance.
const MIN_CONTRIBUTION: f64 = 0.05;
/// Number of rows of a cell map that have space for a name.
const NAMED_ROWS: usize = 60;

/// Flags all samples; prints the most extreme ones, writes all.
pub fn run(args: &OutliersArgs) -> CommandResult {
    let outputs: Vec<&PathBuf> =
        args.output.iter().chain(&args.plot).chain(&args.cells).chain(&args.cell_map).collect();
    let checked: Vec<OutputPath<'_>> = outputs.iter().map(|path| OutputPath::File(path)).collect();
    check_outputs(&[&args.model, &args.data], &checked)?;
    let plot = with_format(args.plot.as_deref(), Format::of)?;
    let cell_map = with_format(args.cell_map.as_deref(), Format::of)?;
    let cells = with_format(args.cells.as_deref(), CellsFormat::of)?;
    let model = files::read_model(&args.model)?;
    for (option, _) in [("--cells", args.cells.is_some()), ("--cell-map", args.cell_map.is_some())]
        .into_iter()
        .filter(|(_, given)| *given)
    {
        require_cell_scales(&model, option)?;
    }
    let work = Session::begin(args.threads)?;
    let data =
        work.open(&args.data, &args.table.options(args.missing.rule(model.config.missing())), &args.decoding.limits())?;
    model.check_features(&data)?;
    let kind = cutoff_kind(args.training, &model, &data)?;
    let feature_label = |feature: usize| feature_label(feature, &model, &data);
    if !outputs.is_empty() {
        work.begin_writing();
    }
    let file = cells.map(|(path, format)| CellsFile::create(path, format, data.shape(), &feature_label)).transpose()?;
    let whole_map = cell_map.is_some() && args.cell_map_rows == MapRows::Data;
    let Diagnosed { found, counts: cell_counts, largest, grid, file } =
        diagnose(&model, &data, &work, kind, file, whole_map)?;
    let mut files: Vec<AtomicFile> = file.map(CellsFile::into_file).transpose()?.into_iter().collect();
    let cutoffs = model.cutoffs(kind);
    let extreme = most_extreme(&found, cutoffs, args.top);
    // On the threads of the runner: products outside of it would start rayon's global pool.
    let rows = work
        .runner()
        .compute(|| extreme.iter().map(|&i| row(i, &found[i], &model, &data)).collect::<steradian::Result<Vec<_>>>())?;
    let notes = notes(&data);
    if let Some(output) = &args.output {
        files.push(stage_file(output, csv(&found).as_bytes())?);
    }
    if let Some((path, format)) = plot {
        let labels: Vec<_> = extreme.iter().map(|&i| (i, sample_label(i, &data))).collect();
        let title = title(&args.data, &model);
        let map = OutlierMap { samples: &found, cutoffs, labels: &labels, title: &title };
        files.push(stage_file(path, &format.bytes(&map.drawing())?)?);
    }
    if let Some((path, format)) = cell_map {
        let map = match grid {
            Some(grid) => MapContent { grid, order: None },
            None => {
                let rows = if let MapRows::Count(count) = args.cell_map_rows { count } else { NAMED_ROWS };
                map_of(farthest(&found, &largest, cutoffs, rows), &model, &data, &work, kind)?
            }
        };
        let drawing = map.drawing(&found, &data, &feature_label, &title(&args.data, &model));
        files.push(stage_file(path, &format.bytes(&drawing)?)?);
    }
    work.finish()?;
    commit(files)?;
    notes.iter().for_each(|note| warn(note));
    let counts = Flag::ALL.map(|flag| (flag, found.iter().filter(|d| d.flag == flag).count()));
    if args.json {
        let counts: serde_json::Map<_, _> =
            counts.iter().map(|(flag, count)| (flag.name().to_owned(), json!(count))).collect();
        return print_json(&json!({
            "n_samples": found.len(),
            "counts": counts,
            "cutoffs": cutoffs,
            "cutoff_kind": kind_name(kind),
            "n_bad_cells": cell_counts.map(|cells| cells.bad),
            "n_missing_cells": cell_counts.map(|cells| cells.missing),
        }));
    }
    let mut text = String::new();
    if !rows.is_empty() {
        let header = ["sample", "score distance", "orthogonal distance", "angle", "flag", "features"];
        text = table(&header, &rows) + "\n";
    }
    text += &summary(&counts, cutoffs, kind);
    if let Some(CellCounts { bad, missing }) = cell_counts {
        let cells = found.len() * model.n_features();
        let _ = writeln!(text, "{cells} cells: {bad} bad, {missing} missing");
    }
    for output in outputs {
        let _ = writeln!(text, "wrote {}", terminal::path(output));
    }
    print(&text)
}

/// A path with the format by its extension.
fn with_format<T>(
    path: Option<&Path>,
    format: fn(&Path) -> steradian::Result<T>,
) -> steradian::Result<Option<(&Path, T)>> {
    path.map(|path| Ok((path, format(path)?))).transpose()
}

/// The cutoffs that apply: those of new samples, or those of the samples of the fit.
fn cutoff_kind(training: bool, model: &Model, data: &Data) -> steradian::Result<CutoffKind> {
    let (fitted, found) = (model.shape.samples, data.shape().samples);
    match training {
        false => Ok(CutoffKind::New),
        true if fitted == found => Ok(CutoffKind::Training),
        true => Err(Error::invalid_argument(format!(
            "--training applies to the data of the fit, which had {fitted} samples, but the data have {found}; give the data of \
             the fit with the same table options, or omit --training"
        ))),
    }
}

/// Name of the cutoffs in reports.
fn kind_name(kind: CutoffKind) -> &'static str {
    match kind {
        CutoffKind::Training => "training",
        CutoffKind::New => "new",
    }
}

/// Diagnoses of all samples and cells.
struct Diagnosed<'a> {
    found: Vec<Diagnosis>,
    /// Counts of cells; `None` for a model without scales of cells.
    counts: Option<CellCounts>,
    /// The largest residual of the cells of each sample, in standard deviations, for a model with scales of cells.
    largest: Vec<f64>,
    /// The cell map of all rows in data order, if it was requested.
    grid: Option<CellGrid>,
    file: Option<CellsFile<'a>>,
}

/// Diagnoses all samples and cells in one pass; cells go to a file and to a map as they come.
fn diagnose<'a>(
    model: &Model,
    data: &Data,
    work: &Session,
    kind: CutoffKind,
    file: Option<CellsFile<'a>>,
    whole_map: bool,
) -> steradian::Result<Diagnosed<'a>> {
    let (samples, features) = (data.shape().samples, data.shape().features);
    let mut all = Diagnosed {
        found: memory::reserved(samples),
        counts: has_cell_scales(model).then(CellCounts::default),
        largest: Vec::new(),
        grid: whole_map.then(|| CellGrid::new(samples, features)),
        file,
    };
    work.runner().for_each_block("distances", data, model.block_rows(), |block| {
        all.found.extend(model.diagnose_block(block, kind)?);
        let Some(counts) = &mut all.counts else { return Ok(()) };
        let Some(cells) = model.diagnose_cells_block(block, kind)? else { return Ok(()) };
        counts.add(&cells.flags);
        // A missing cell has no residual.
        let largest = |row: &[f64]| row.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        all.largest.extend(cells.residual_sd.chunks(features).map(largest));
        if let Some(grid) = &mut all.grid {
            let rows = cells.residual_sd.chunks(features).zip(cells.flags.chunks(features)).enumerate();
            rows.for_each(|(row, (residuals, flags))| add_row(grid, block.first() + row, residuals, flags));
        }
        all.file.as_mut().map_or(Ok(()), |file| file.write(block, &cells))
    })?;
    Ok(all)
}

/// Adds a row to a cell map.
fn add_row(grid: &mut CellGrid, at: usize, residuals: &[f64], flags: &[CellFlag]) {
    let cell = |(residual, flag): (&f64, &CellFlag)| match flag {
        CellFlag::Usable => MapCell::Usable(*residual),
        CellFlag::Bad => MapCell::Bad(*residual),
        CellFlag::Missing => MapCell::Missing,
    };
    grid.add(at, residuals.iter().zip(flags).map(cell));
}

/// The colors of a cell map, and the samples of its rows.
struct MapContent {
    grid: CellGrid,
    /// The sample of each row; `None` for all in data order.
    order: Option<Vec<usize>>,
}

/// The cell map of some rows.
fn map_of(
    order: Vec<usize>,
    model: &Model,
    data: &Data,
    work: &Session,
    kind: CutoffKind,
) -> steradian::Result<MapContent> {
    let mut grid = CellGrid::new(order.len(), model.n_features());
    work.runner().compute(|| {
        order.iter().enumerate().try_for_each(|(at, &sample)| {
            data.visit(sample..sample + 1, &mut |block| {
                if let Some(cells) = model.diagnose_cells_block(&block, kind)? {
                    add_row(&mut grid, at, &cells.residual_sd, &cells.flags);
                }
                Ok(())
            })
        })
    })?;
    Ok(MapContent { grid, order: Some(order) })
}

/// Indices of the `count` worst samples, the worst first: by the orthogonal distance over its cutoff or the largest residual
/// of a cell over that of bad cells, whichever is larger. The orthogonal distance does not include bad cells.
fn farthest(found: &[Diagnosis], largest: &[f64], cutoffs: [f64; 2], count: usize) -> Vec<usize> {
    let excess = |sample: usize| {
        let outside = if cutoffs[1].is_nan() { 0.0 } else { found[sample].orthogonal_distance / cutoffs[1] };
        outside.max(largest[sample] / CELL_CUTOFF)
    };
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| excess(b).total_cmp(&excess(a)).then(a.cmp(&b)));
    order.truncate(count);
    order
}

impl MapContent {
    fn drawing(
        &self,
        found: &[Diagnosis],
        data: &Data,
        feature_label: &dyn Fn(usize) -> String,
        title: &str,
    ) -> crate::plot::Drawing {
        let sample = |at: usize| self.order.as_ref().map_or(at, |order| order[at]);
        let [rows, _] = self.grid.shape();
        let mark =
            |at: usize| if self.grid.is_empty_row(at) { RowMark::Empty } else { RowMark::Flag(found[sample(at)].flag) };
        let marks: Vec<RowMark> = (0..rows).map(mark).collect();
        let selection = match (&self.order, rows == found.len()) {
            (None, _) => format!("{rows} rows in data order"),
            (Some(_), true) => format!("{rows} rows, worst first"),
            (Some(_), false) => {
                format!("the {rows} worst of {} rows, worst first", found.len())
            }
        };
        CellMap {
            grid: &self.grid,
            rows: &marks,
            row_label: &|at| sample_label(sample(at), data),
            feature_label,
            title,
            selection: &selection,
        }
        .drawing()
    }
}

/// Label of a sample in plots: its name, or its index.
fn sample_label(sample: usize, data: &Data) -> String {
    data.row_name(sample).map_or_else(|| sample.to_string(), str::to_owned)
}

/// Label of a feature: its name in the data or the model, or its index.
fn feature_label(feature: usize, model: &Model, data: &Data) -> String {
    let names = data.feature_names().or(model.feature_names.as_deref());
    names.map_or_else(|| feature.to_string(), |names| names[feature].clone())
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
    let part = |&j: &usize| format!("{} {:.0} %", feature_label(j, model, data), 100.0 * contributions[j]);
    let named = order.iter().take(MAX_FEATURES).map(part);
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

fn summary(counts: &[(Flag, usize)], cutoffs: [f64; 2], kind: CutoffKind) -> String {
    let n: usize = counts.iter().map(|(_, count)| count).sum();
    let parts: Vec<_> = counts.iter().map(|(flag, count)| format!("{count} {}", flag.name())).collect();
    let samples = match kind {
        CutoffKind::Training => "of the fit's own samples",
        CutoffKind::New => "of new samples",
    };
    let [score, orthogonal] = cutoffs.map(number);
    format!(
        "{n} samples: {}; cutoffs {samples}: score distance {score}, orthogonal distance {orthogonal}\n",
        parts.join(", ")
    )
}
