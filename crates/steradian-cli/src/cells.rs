//! Cells of samples: their values, and the table and the mask of bad cells.

use std::path::Path;

use steradian::data::{Block, BlockData, Shape};
use steradian::model::{CellDiagnosis, CellFlag};
use steradian::{Error, Model, Result};
use steradian_io::{AtomicFile, NpyWriter};

use crate::apply::sides;

/// The value of a cell of a block.
pub fn value(block: &Block<'_>, row: usize, feature: usize) -> f64 {
    match block.data() {
        BlockData::U8(rows) => rows.get(row, feature).into(),
        BlockData::U16(rows) => rows.get(row, feature).into(),
        BlockData::F32(rows) => rows.get(row, feature).into(),
        BlockData::F64(rows) => rows.get(row, feature),
    }
}

/// Rejects an option for a model without scales of cells.
pub fn require_cell_scales(model: &Model, option: &str) -> Result<()> {
    if has_cell_scales(model) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{option} requires a model of --method robust, cells or rows, got one of {}; fit such a model",
        model.method().name()
    )))
}

/// True if the model classifies cells.
pub fn has_cell_scales(model: &Model) -> bool {
    model.diagnostics.cellwise.is_some()
}

/// Name of a flag in tables.
fn flag_name(flag: CellFlag) -> &'static str {
    match flag {
        CellFlag::Usable => "usable",
        CellFlag::Bad => "bad",
        CellFlag::Missing => "missing",
    }
}

/// Numbers of bad and missing cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// Number of bad cells.
    pub bad: usize,
    /// Number of missing cells.
    pub missing: usize,
}

impl CellCounts {
    /// Counts the cells of some more rows.
    pub fn add(&mut self, flags: &[CellFlag]) {
        self.bad += flags.iter().filter(|flag| **flag == CellFlag::Bad).count();
        self.missing += flags.iter().filter(|flag| **flag == CellFlag::Missing).count();
    }
}

/// The label of a feature by its index.
pub type FeatureLabel<'a> = dyn Fn(usize) -> String + Sync + 'a;

/// The file of cells: a table of bad and missing cells, or a mask of bad cells.
pub enum CellsFile<'a> {
    /// A table, and the label of a feature.
    Table(AtomicFile, &'a FeatureLabel<'a>),
    /// A mask.
    Mask(NpyWriter),
}

/// The format of the file of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellsFormat {
    /// A table of bad and missing cells.
    Csv,
    /// A mask of bad cells.
    Npy,
}

impl CellsFormat {
    /// The format by the extension of a file.
    pub fn of(path: &Path) -> Result<Self> {
        match extension(path).as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("npy") => Ok(Self::Npy),
            _ => Err(unsupported(path, ".csv or .npy")),
        }
    }
}

impl<'a> CellsFile<'a> {
    /// Starts the file for samples of a shape.
    pub fn create(
        path: &Path,
        format: CellsFormat,
        shape: &Shape,
        feature_label: &'a FeatureLabel<'a>,
    ) -> Result<Self> {
        match format {
            CellsFormat::Csv => {
                let mut file = AtomicFile::create(path)?;
                file.append(b"sample,feature,value,expected,residual_sd,flag\n")?;
                Ok(Self::Table(file, feature_label))
            }
            CellsFormat::Npy => Ok(Self::Mask(NpyWriter::create_mask(path, &sides(shape))?)),
        }
    }

    /// Appends the cells of a block.
    pub fn write(&mut self, block: &Block<'_>, cells: &CellDiagnosis) -> Result<()> {
        match self {
            Self::Table(file, feature_label) => write_rows(file, *feature_label, block, cells),
            Self::Mask(mask) => {
                let bad: Vec<bool> = cells.flags.iter().map(|flag| *flag == CellFlag::Bad).collect();
                mask.write_mask(&bad)
            }
        }
    }

    /// The complete file, not yet in place.
    pub fn into_file(self) -> Result<AtomicFile> {
        match self {
            Self::Table(mut file, _) => {
                file.complete()?;
                Ok(file)
            }
            Self::Mask(mask) => mask.into_file(),
        }
    }
}

/// Appends the bad and missing cells of a block to their table.
fn write_rows(
    file: &mut AtomicFile,
    feature_label: &FeatureLabel<'_>,
    block: &Block<'_>,
    cells: &CellDiagnosis,
) -> Result<()> {
    let features = cells.flags.len() / block.rows().max(1);
    for (at, flag) in cells.flags.iter().enumerate().filter(|(_, flag)| **flag != CellFlag::Usable) {
        let (row, feature) = (at / features, at % features);
        // A missing cell has no value and no residual.
        let number = |x: f64| if *flag == CellFlag::Missing { String::new() } else { format!("{x:?}") };
        let line = format!(
            "{},{},{},{:?},{},{}\n",
            block.first() + row,
            csv_field(&feature_label(feature)),
            number(value(block, row, feature)),
            cells.expected[at],
            number(cells.residual_sd[at]),
            flag_name(*flag)
        );
        file.append(line.as_bytes())?;
    }
    Ok(())
}

/// A field of a text table, quoted if it contains a separator, a quote or a line break.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// The extension of a path in lower case.
pub fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase)
}

/// The error for a file of another extension.
pub fn unsupported(path: &Path, expected: &str) -> Error {
    Error::invalid_argument(format!("{}: the extension is not supported; use {expected}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_separators_are_quoted() {
        assert_eq!(csv_field("Top speed"), "Top speed");
        assert_eq!(csv_field("a,b"), "\"a,b\"");
        assert_eq!(csv_field("2\" pipe"), "\"2\"\" pipe\"");
    }

    #[test]
    fn the_extension_selects_the_format() {
        assert_eq!(CellsFormat::of(Path::new("a.CSV")).unwrap(), CellsFormat::Csv);
        assert_eq!(CellsFormat::of(Path::new("a.npy")).unwrap(), CellsFormat::Npy);
        assert!(CellsFormat::of(Path::new("a.png")).unwrap_err().to_string().contains(".csv or .npy"));
    }
}
