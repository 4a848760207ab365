//! Tables that are written row by row, as text or parquet, atomic.

use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "parquet")]
use std::sync::Arc;

#[cfg(feature = "parquet")]
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
#[cfg(feature = "parquet")]
use parquet::errors::ParquetError;
#[cfg(feature = "parquet")]
use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
use steradian::{Error, Result};

use crate::output::atomic_file::{AtomicFile, cannot_write};
#[cfg(not(all(feature = "csv", feature = "parquet")))]
use crate::system::missing_feature::missing_feature;

/// Number of values per row group of a parquet file, unless that is less than [`MIN_GROUP_ROWS`] rows.
#[cfg(feature = "parquet")]
const GROUP_VALUES: usize = 1 << 20;
/// Smallest number of rows per row group: each group takes some bytes per column.
#[cfg(feature = "parquet")]
const MIN_GROUP_ROWS: usize = 64;
/// Largest integer that is written as one: larger ones have digits that f64 does not determine.
#[cfg(feature = "csv")]
const MAX_INTEGER: f64 = 1e15;

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with commas between the cells.
    Csv,
    /// Parquet with f64 columns.
    Parquet,
}

/// The names in a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableNames {
    /// Names of the columns; text without them has no header, and parquet columns are named `f0`, `f1`, ...
    pub columns: Option<Vec<String>>,
    /// Header of the first column, if that holds row names.
    pub row_names: Option<String>,
}

/// A writer of a table, which is passed in several calls.
pub struct TableWriter {
    path: PathBuf,
    columns: usize,
    has_row_names: bool,
    out: TableOutput,
}

enum TableOutput {
    #[cfg(feature = "csv")]
    Csv(Box<::csv::Writer<AtomicFile>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<RowGroups>),
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("path", &self.path).field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl TableWriter {
    /// Starts a table of this many columns, not counting row names.
    pub fn create(path: impl AsRef<Path>, format: TableFormat, columns: usize, names: &TableNames) -> Result<Self> {
        let path = path.as_ref();
        if let Some(found) = names.columns.as_ref().map(Vec::len).filter(|found| *found != columns) {
            return Err(Error::invalid_argument(format!(
                "{}: expected {columns} column names, got {found}",
                path.display()
            )));
        }
        let out = match format {
            #[cfg(feature = "csv")]
            TableFormat::Csv => TableOutput::Csv(Box::new(begin_csv(path, names)?)),
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => TableOutput::Parquet(Box::new(RowGroups::begin(path, columns, names)?)),
            #[cfg(not(feature = "csv"))]
            TableFormat::Csv => return Err(missing_feature(path, "writing a text table", "csv", "write .npy")),
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => {
                return Err(missing_feature(path, "writing a parquet table", "parquet", "write .npy"));
            }
        };
        Ok(Self { path: path.to_path_buf(), columns, has_row_names: names.row_names.is_some(), out })
    }

    /// Appends complete rows; `names` has the name of each, if the table has row names. NaN is a missing cell.
    pub fn write(&mut self, names: &[&str], values: &[f64]) -> Result<()> {
        let rows = values.len().checked_div(self.columns).unwrap_or(0);
        let named = if self.has_row_names { rows } else { 0 };
        if rows * self.columns != values.len() || names.len() != named {
            return Err(Error::invalid_argument(format!(
                "{}: expected rows of {} values and {named} row names, got {} values and {} row names",
                self.path.display(),
                self.columns,
                values.len(),
                names.len()
            )));
        }
        match &mut self.out {
            #[cfg(feature = "csv")]
            TableOutput::Csv(table) => write_csv_rows(table, names, values, self.columns)
                .map_err(|e| cannot_write(&self.path, &csv_io_error(e))),
            #[cfg(feature = "parquet")]
            TableOutput::Parquet(table) => {
                table.write(names, values).map_err(|e| cannot_write(&self.path, &parquet_io_error(e)))
            }
        }
    }

    /// The complete file, not yet in place.
    pub fn into_file(self) -> Result<AtomicFile> {
        let mut file = match self.out {
            #[cfg(feature = "csv")]
            TableOutput::Csv(table) => table.into_inner().map_err(|e| cannot_write(&self.path, e.error()))?,
            #[cfg(feature = "parquet")]
            TableOutput::Parquet(table) => {
                table.finish().map_err(|e| cannot_write(&self.path, &parquet_io_error(e)))?
            }
        };
        file.complete()?;
        Ok(file)
    }
}

#[cfg(feature = "csv")]
fn begin_csv(path: &Path, names: &TableNames) -> Result<::csv::Writer<AtomicFile>> {
    let mut table = ::csv::Writer::from_writer(AtomicFile::create(path)?);
    if let Some(columns) = &names.columns {
        let header = names.row_names.iter().chain(columns);
        table.write_record(header).map_err(|e| cannot_write(path, &csv_io_error(e)))?;
    }
    Ok(table)
}

#[cfg(feature = "csv")]
fn write_csv_rows(
    table: &mut ::csv::Writer<AtomicFile>,
    names: &[&str],
    values: &[f64],
    columns: usize,
) -> ::csv::Result<()> {
    for (row, cells) in values.chunks(columns.max(1)).enumerate() {
        if let Some(name) = names.get(row) {
            table.write_field(name)?;
        }
        for value in cells {
            table.write_field(cell_text(*value))?;
        }
        table.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// The shortest text that is read back to the same f64; empty for NaN.
#[cfg(feature = "csv")]
pub(crate) fn cell_text(value: f64) -> String {
    match value {
        _ if value.is_nan() => String::new(),
        _ if value.fract() == 0.0 && value.abs() < MAX_INTEGER => format!("{value:.0}"),
        _ => format!("{value:?}"),
    }
}

#[cfg(feature = "csv")]
fn csv_io_error(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A parquet table with one group of rows in memory.
#[cfg(feature = "parquet")]
struct RowGroups {
    file: SerializedFileWriter<AtomicFile>,
    columns: usize,
    has_row_names: bool,
    group_rows: usize,
    names: Vec<ByteArray>,
    /// Values of the group, row by row.
    values: Vec<f64>,
}

#[cfg(feature = "parquet")]
impl RowGroups {
    fn begin(path: &Path, columns: usize, names: &TableNames) -> Result<Self> {
        use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
        use parquet::schema::types::Type;

        if let Some(name) = names.columns.as_deref().and_then(repeated) {
            return Err(Error::invalid_argument(format!(
                "{}: two columns are named {name:?}, which a parquet table cannot have; write .csv, or rename one of them",
                path.display()
            )));
        }
        let failed = |e: ParquetError| cannot_write(path, &parquet_io_error(e));
        let field = |name: &str, physical, converted| {
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
            field.with_converted_type(converted).build().map(Arc::new)
        };
        let label = |name: &str| if name.is_empty() { "row_names".to_owned() } else { name.to_owned() };
        let named = names.row_names.iter().map(|name| field(&label(name), Physical::BYTE_ARRAY, ConvertedType::UTF8));
        let numbers = (0..columns).map(|column| {
            let name = names.columns.as_ref().map_or_else(|| format!("f{column}"), |names| names[column].clone());
            field(&name, Physical::DOUBLE, ConvertedType::NONE)
        });
        let fields = named.chain(numbers).collect::<std::result::Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("table").with_fields(fields).build().map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_created_by("steradian".into());
        let file = AtomicFile::create(path)?;
        Ok(Self {
            file: SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build())).map_err(failed)?,
            columns,
            has_row_names: names.row_names.is_some(),
            group_rows: (GROUP_VALUES / columns.max(1)).max(MIN_GROUP_ROWS),
            names: Vec::new(),
            values: Vec::new(),
        })
    }

    fn write(&mut self, names: &[&str], values: &[f64]) -> std::result::Result<(), ParquetError> {
        for (row, cells) in values.chunks(self.columns).enumerate() {
            self.values.extend_from_slice(cells);
            self.names.extend(names.get(row).map(|name| ByteArray::from(*name)));
            if self.values.len() >= self.group_rows * self.columns {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the group in memory.
    fn flush(&mut self) -> std::result::Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        if self.has_row_names {
            let mut column = next_column(&mut group)?;
            column.typed::<ByteArrayType>().write_batch(&self.names, None, None)?;
            column.close()?;
        }
        for index in 0..self.columns {
            let values: Vec<f64> = self.values[index..].iter().step_by(self.columns).copied().collect();
            let mut column = next_column(&mut group)?;
            column.typed::<DoubleType>().write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
        self.values.clear();
        self.names.clear();
        Ok(())
    }

    fn finish(mut self) -> std::result::Result<AtomicFile, ParquetError> {
        if !self.values.is_empty() {
            self.flush()?;
        }
        self.file.into_inner()
    }
}

/// A name that occurs more than once.
#[cfg(feature = "parquet")]
fn repeated(names: &[String]) -> Option<&str> {
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    names.iter().map(String::as_str).find(|name| !seen.insert(*name))
}

#[cfg(feature = "parquet")]
fn next_column<'a, W: io::Write + Send>(
    group: &'a mut parquet::file::writer::SerializedRowGroupWriter<'_, W>,
) -> std::result::Result<parquet::file::writer::SerializedColumnWriter<'a>, ParquetError> {
    group.next_column()?.ok_or_else(|| ParquetError::General("the schema has too few columns".into()))
}

#[cfg(feature = "parquet")]
fn parquet_io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error.to_string()),
        },
        other => io::Error::other(other),
    }
}

#[cfg(all(test, feature = "csv", feature = "parquet"))]
mod tests {
    use super::*;
    use crate::table::table_options::TableOptions;
    use steradian::Source;

    fn names(columns: Option<&[&str]>, row_names: Option<&str>) -> TableNames {
        let columns = columns.map(|columns| columns.iter().map(ToString::to_string).collect());
        TableNames { columns, row_names: row_names.map(str::to_owned) }
    }

    fn values(data: &crate::Data) -> Vec<f64> {
        let shape = data.shape().clone();
        let mut values = Vec::new();
        data.visit(0..shape.samples, &mut |block| {
            let steradian::data::BlockData::F64(rows) = block.data() else { panic!("tables hold f64 values") };
            values.extend((0..rows.rows()).flat_map(|i| (0..shape.features).map(move |j| rows.get(i, j))));
            Ok(())
        })
        .unwrap();
        values
    }

    #[test]
    fn tables_are_read_back_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        // More rows than fit into one group of a parquet file.
        let rows = 2 * GROUP_VALUES / 3 + 7;
        let cell = |at: usize| match at % 5 {
            0 => 1.0 / (at as f64 + 3.0),
            1 => at as f64,
            2 => -0.0,
            3 => 1e300 / (at as f64),
            _ => f64::from_bits(at as u64),
        };
        let expected: Vec<f64> = (0..3 * rows).map(cell).collect();
        let labels: Vec<String> = (0..rows).map(|row| format!("row \"{row}\", née")).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let options = TableOptions { row_names: true, ..TableOptions::default() };
        for (name, format) in [("t.csv", TableFormat::Csv), ("t.parquet", TableFormat::Parquet)] {
            let path = folder.path().join(name);
            let names = names(Some(&["a.b", "x, y", "Größe"]), Some("maker"));
            let mut table = TableWriter::create(&path, format, 3, &names).unwrap();
            for (labels, rows) in labels.chunks(4000).zip(expected.chunks(12_000)) {
                table.write(labels, rows).unwrap();
            }
            table.into_file().unwrap().finish().unwrap();
            let data = crate::open(&path, &options).unwrap();
            assert_eq!(data.feature_names().unwrap(), names.columns.as_ref().unwrap().as_slice(), "{name}");
            assert_eq!(data.row_names_header(), Some("maker"), "{name}");
            assert_eq!((data.row_name(0), data.row_name(rows - 1)), (Some(labels[0]), Some(labels[rows - 1])));
            let found = values(&data);
            assert_eq!(found.len(), expected.len(), "{name}");
            assert!(found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        }
    }

    #[test]
    fn a_table_without_names_has_no_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let mut table = TableWriter::create(&path, TableFormat::Csv, 2, &TableNames::default()).unwrap();
        table.write(&[], &[1.0, -2.5, f64::NAN, 1e15]).unwrap();
        table.into_file().unwrap().finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1,-2.5\n,1000000000000000.0\n");
        let path = folder.path().join("t.parquet");
        let mut table = TableWriter::create(&path, TableFormat::Parquet, 2, &TableNames::default()).unwrap();
        table.write(&[], &[1.0, 2.0]).unwrap();
        table.into_file().unwrap().finish().unwrap();
        let data = crate::open(&path, &TableOptions::default()).unwrap();
        assert_eq!(data.feature_names().unwrap(), ["f0", "f1"]);
    }

    #[test]
    fn incomplete_rows_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let names = names(Some(&["a", "b"]), Some(""));
        let mut table = TableWriter::create(&path, TableFormat::Csv, 2, &names).unwrap();
        for (labels, values) in [(&["r"][..], &[1.0][..]), (&[], &[1.0, 2.0]), (&["r", "s"], &[1.0, 2.0])] {
            assert!(table.write(labels, values).unwrap_err().to_string().contains("rows of 2 values"));
        }
        assert!(TableWriter::create(&path, TableFormat::Csv, 3, &names).unwrap_err().to_string().contains("got 2"));
        let twice = self::names(Some(&["a", "a"]), None);
        let parquet = TableWriter::create(&path, TableFormat::Parquet, 2, &twice).unwrap_err().to_string();
        assert!(parquet.contains("two columns are named \"a\""), "{parquet}");
        drop(table);
        assert!(!path.exists());
    }
}
