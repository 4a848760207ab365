//! `steradian fill`: writes samples with expected values in place of missing cells and, on request, of bad cells.

use std::path::Path;

use steradian::data::{Block, ElementType};
use steradian::model::FilledRows;
use steradian::{Model, Result, Source};
use steradian_io::{
    AtomicFile, Data, MissingRule, NpyWriter, OutputPath, TableFormat, TableNames, TableWriter, check_outputs, commit,
};

use crate::apply::sides;
use crate::args::FillArgs;
use crate::cells::{extension, require_cell_scales, unsupported, value};
use crate::files;
use crate::outcome::{CommandResult, warn};
use crate::render::print;
use crate::session::{Session, notes};
use crate::terminal;

/// Fills the cells of all samples and writes the output and the mask.
pub fn run(args: &FillArgs) -> CommandResult {
    let outputs: Vec<OutputPath<'_>> =
        [&args.output].into_iter().chain(&args.mask).map(|path| OutputPath::File(path)).collect();
    check_outputs(&[&args.model, &args.data], &outputs)?;
    let format = FillFormat::of(&args.output)?;
    if let Some(mask) = args.mask.as_deref().filter(|mask| extension(mask).as_deref() != Some("npy")) {
        return Err(unsupported(mask, ".npy").into());
    }
    let model = files::read_model(&args.model)?;
    if args.bad_cells {
        require_cell_scales(&model, "--bad-cells")?;
    }
    let work = Session::begin(args.threads)?;
    let data = work.open(&args.data, &args.table.options(MissingRule::Use), &args.decoding.limits())?;
    model.check_features(&data)?;
    let mut warnings = notes(&data);
    work.begin_writing();
    let mut output = FillOutput::create(&args.output, format, args.bad_cells, &model, &data)?;
    let mut mask = args.mask.as_deref().map(|path| NpyWriter::create_mask(path, &sides(data.shape()))).transpose()?;
    let mut changes = Changes::default();
    work.runner().for_each_block("fill", &data, model.block_rows(), |block| {
        let filled = model.fill_block(block, args.bad_cells)?;
        changes.add(block, &filled);
        output.write(&data, block, &filled.values)?;
        mask.as_mut().map_or(Ok(()), |mask| mask.write_mask(&filled.changed))
    })?;
    let mut files = vec![output.into_file()?];
    files.extend(mask.map(NpyWriter::into_file).transpose()?);
    work.finish()?;
    commit(files)?;
    warnings.extend(changes.warning(&data));
    warnings.iter().for_each(|warning| warn(warning));
    let sides: Vec<_> = sides(data.shape()).iter().map(usize::to_string).collect();
    let mut text = format!("wrote {}: {}; {}\n", terminal::path(&args.output), sides.join(" x "), changes.summary());
    if let Some(mask) = &args.mask {
        text += &format!("wrote {}\n", terminal::path(mask));
    }
    print(&text)
}

/// The format of the completed samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FillFormat {
    Npy,
    Table(TableFormat),
}

impl FillFormat {
    /// The format by the extension of a file.
    fn of(path: &Path) -> Result<Self> {
        match extension(path).as_deref() {
            Some("npy") => Ok(Self::Npy),
            Some("csv") => Ok(Self::Table(TableFormat::Csv)),
            Some("parquet") => Ok(Self::Table(TableFormat::Parquet)),
            _ => Err(unsupported(path, ".csv, .npy or .parquet")),
        }
    }
}

/// The file of the completed samples.
enum FillOutput {
    Npy(NpyWriter),
    Table(TableWriter),
}

impl FillOutput {
    fn create(path: &Path, format: FillFormat, bad_cells: bool, model: &Model, data: &Data) -> Result<Self> {
        let shape = data.shape();
        match format {
            FillFormat::Npy => {
                let integer = matches!(shape.element, ElementType::U8 | ElementType::U16);
                // Integers have no missing cells, but expected values of bad cells are no integers.
                let element = if integer && bad_cells { Model::output_element(shape.element) } else { shape.element };
                Ok(Self::Npy(NpyWriter::create(path, element, &sides(shape))?))
            }
            FillFormat::Table(format) => {
                let own = data.feature_names().map(<[String]>::to_vec);
                // A text table without a header stays one.
                let columns = if data.is_text() { own } else { own.or_else(|| model.feature_names.clone()) };
                let names = TableNames { columns, row_names: data.row_names_header().map(str::to_owned) };
                Ok(Self::Table(TableWriter::create(path, format, shape.features, &names)?))
            }
        }
    }

    fn write(&mut self, data: &Data, block: &Block<'_>, values: &[f64]) -> Result<()> {
        match self {
            Self::Npy(array) => array.write(values),
            Self::Table(table) => {
                let rows = block.first()..block.first() + block.rows();
                let names: Vec<&str> = rows.filter_map(|row| data.row_name(row)).collect();
                table.write(&names, values)
            }
        }
    }

    fn into_file(self) -> Result<AtomicFile> {
        match self {
            Self::Npy(array) => array.into_file(),
            Self::Table(table) => table.into_file(),
        }
    }
}

/// Numbers of changed cells.
#[derive(Debug, Default)]
struct Changes {
    cells: usize,
    missing: usize,
    bad: usize,
    /// Samples without a number: how many, and the first.
    empty: Option<(usize, usize)>,
}

impl Changes {
    fn add(&mut self, block: &Block<'_>, filled: &FilledRows) {
        let features = filled.changed.len() / block.rows().max(1);
        self.cells += filled.changed.len();
        for (row, changed) in filled.changed.chunks(features.max(1)).enumerate() {
            let is_missing = |feature: &usize| value(block, row, *feature).is_nan();
            let changed = || (0..features).filter(|&feature| changed[feature]);
            let missing = changed().filter(is_missing).count();
            self.missing += missing;
            self.bad += changed().count() - missing;
            if missing == features {
                let (count, first) = self.empty.unwrap_or((0, block.first() + row));
                self.empty = Some((count + 1, first));
            }
        }
    }

    fn summary(&self) -> String {
        let of = |count: usize, what: &str| format!("{count} {what} cell{}", if count == 1 { "" } else { "s" });
        let bad = if self.bad > 0 { format!(" and {}", of(self.bad, "bad")) } else { String::new() };
        format!("{}{bad} of {} replaced", of(self.missing, "missing"), self.cells)
    }

    /// A warning about samples without a number.
    fn warning(&self, data: &Data) -> Option<String> {
        let (count, first) = self.empty?;
        let row = data.table_row(first);
        let text = match count {
            1 => format!("row {row} has no number; its cells are the center of the model"),
            _ => {
                format!("{count} rows have no number, the first is row {row}; their cells are the center of the model")
            }
        };
        Some(text)
    }
}
