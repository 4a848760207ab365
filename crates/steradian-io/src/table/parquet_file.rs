//! A parquet file that threads share: positioned reads, the schema, and column readers that start at any row.

use std::fs::File;
use std::io::{BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use steradian::{Error, Result};

use crate::system::pread::PositionedReader;
use crate::system::quote::quote;
use crate::table::columns::select;
use crate::table::parquet_columns::{ColumnType, skip};
use crate::table::parquet_pages::{CheckedPages, check_pages};
use crate::table::parquet_schema::check_schema;
use crate::table::table_options::TableOptions;

/// Positioned reads of one open file; the reader of the parquet crate moves a shared cursor.
struct SharedFile {
    file: Arc<File>,
    bytes: u64,
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<PositionedReader<Arc<File>>>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(PositionedReader::new(Arc::clone(&self.file), start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // Checked first: a corrupt length must not be allocated.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let what = format!("{length} bytes at byte {start} exceed the file of {} bytes", self.bytes);
            return Err(ParquetError::EOF(what));
        }
        let mut bytes = vec![0; length];
        PositionedReader::new(Arc::clone(&self.file), start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// The schema of a parquet file and readers of its columns.
pub(crate) struct ParquetFile {
    reader: SerializedFileReader<SharedFile>,
    file: Arc<File>,
    /// Label of each column.
    pub(crate) labels: Vec<String>,
    /// Type of each column.
    pub(crate) types: Vec<ColumnType>,
    /// Number of rows of each group.
    pub(crate) groups: Vec<usize>,
}

impl ParquetFile {
    /// Reads and validates the footer.
    pub(crate) fn open(path: &Path, file: Arc<File>, bytes: u64) -> Result<Self> {
        check_schema(path, &file, bytes)?;
        let shared = SharedFile { file: Arc::clone(&file), bytes };
        let reader = guarded(path, || SerializedFileReader::new(shared))?;
        reader.metadata().row_groups().iter().try_for_each(|group| check_group(path, group, bytes))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let columns = schema.columns();
        let groups = reader.metadata().row_groups().iter().map(|group| usize::try_from(group.num_rows()));
        let groups = groups.collect::<std::result::Result<_, _>>();
        Ok(Self {
            labels: columns.iter().map(|column| column.path().string()).collect(),
            types: columns.iter().map(|column| ColumnType::of(column)).collect(),
            groups: groups.map_err(|_| Error::corrupt_file(path, "a row group has a negative number of rows"))?,
            reader,
            file,
        })
    }

    /// Indices of the selected columns; fails if one of them is not numeric.
    pub(crate) fn select_columns(&self, path: &Path, options: &TableOptions) -> Result<Vec<usize>> {
        let data = usize::from(options.row_names)..self.labels.len();
        if data.is_empty() {
            let what = if options.row_names { "data column: its only column contains the row names" } else { "column" };
            return Err(Error::invalid_data(format!("{}: the table has no {what}", path.display())));
        }
        let (first, labels) = (data.start, &self.labels[data.start..]);
        let numeric: Vec<usize> = data.clone().filter(|&c| self.is_numeric(c) && !self.is_index(c)).collect();
        let selected: Vec<usize> = match &options.columns {
            None => data.filter(|&column| !self.is_index(column)).collect(),
            Some(_) if options.selects_numeric(labels) => numeric.clone(),
            Some(columns) => select(path, columns, labels, true)?.into_iter().map(|index| first + index).collect(),
        };
        if selected.is_empty() {
            return Err(Error::invalid_data(format!("{}: no column is numeric", path.display())));
        }
        let others: Vec<(&str, &str)> = selected.iter().filter_map(|&column| self.not_numeric(column)).collect();
        let Some((label, type_name)) = others.first() else { return Ok(selected) };
        let more = if others.len() > 1 { format!(", first of {} such columns", others.len()) } else { String::new() };
        Err(Error::NotNumeric {
            path: path.to_path_buf(),
            place: format!("column {} ({type_name}{more})", quote(label.as_bytes())),
            numeric: numeric.iter().map(|&column| self.labels[column].clone()).collect(),
            row_names: options.row_names,
        })
    }

    fn is_numeric(&self, column: usize) -> bool {
        self.not_numeric(column).is_none()
    }

    /// True if pandas wrote the column for an index without a name.
    fn is_index(&self, column: usize) -> bool {
        self.labels[column].starts_with("__index_level_")
    }

    /// Label and type of a column that is not numeric; `None` for a numeric column.
    fn not_numeric(&self, column: usize) -> Option<(&str, &'static str)> {
        match self.types[column] {
            ColumnType::Other(type_name) => Some((&self.labels[column], type_name)),
            _ => None,
        }
    }

    /// Fails if the compression of a column is not supported.
    pub(crate) fn check_compression(&self, path: &Path, column: usize) -> Result<()> {
        for group in self.reader.metadata().row_groups() {
            match group.column(column).compression() {
                Compression::BROTLI(_) | Compression::LZO => {
                    let (path, name) = (path.display(), group.column(column).compression_codec());
                    return Err(Error::invalid_data(format!(
                        "{path}: compression {name} of column {} is not supported; write the file with zstd or snappy",
                        self.labels[column]
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Estimated size in bytes of the largest page of a column: 1 MiB, or the whole column of a group if that is
    /// smaller.
    pub(crate) fn page_bytes(&self, column: usize) -> u64 {
        const USUAL_PAGE: u64 = 1 << 20;
        let sizes = self.reader.metadata().row_groups().iter().map(|group| group.column(column).uncompressed_size());
        sizes.max().map_or(0, |largest| USUAL_PAGE.min(largest.max(0).cast_unsigned()))
    }

    /// Fails if a page of a column takes more memory than it may, before it is decoded.
    pub(crate) fn check_pages(&self, path: &Path, column: usize) -> Result<()> {
        for group in self.reader.metadata().row_groups() {
            guarded(path, || check_pages(&self.file, group.column(column)))?;
        }
        Ok(())
    }

    /// A reader of a column of a row group, from a row of that group.
    pub(crate) fn column(&self, group: usize, column: usize, row: usize) -> ParquetResult<ColumnReader> {
        let group = self.reader.get_row_group(group)?;
        let descriptor = group.metadata().column(column).column_descr_ptr();
        let pages = CheckedPages::new(group.get_column_page_reader(column)?, descriptor.max_def_level() > 0);
        let mut reader = get_column_reader(descriptor, Box::new(pages));
        if row > 0 {
            skip(&mut reader, row)?;
        }
        Ok(reader)
    }
}

/// Fails if the footer refers to bytes or rows that do not exist: the parquet crate would panic for some of them.
fn check_group(path: &Path, group: &RowGroupMetaData, bytes: u64) -> Result<()> {
    let damaged = |what: &str| Err(corrupt(path, &ParquetError::General(what.to_string())));
    for column in group.columns() {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size()).and_then(|end| u64::try_from(end).ok());
        if start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end > bytes) {
            return damaged("a column is outside the file");
        }
        if column.column_descr().max_rep_level() == 0 && column.num_values() != group.num_rows() {
            return damaged("a column and its row group have different numbers of rows");
        }
    }
    Ok(())
}

/// Calls the parquet crate and converts errors and panics, which corrupt bytes cause, to [`Error::CorruptFile`].
pub(crate) fn guarded<T>(path: &Path, call: impl FnOnce() -> ParquetResult<T>) -> Result<T> {
    // After an error the caller drops its readers, so state that a panic left inconsistent is not used again.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done.map_err(|e| corrupt(path, &e)),
        Err(_) => Err(corrupt(path, &ParquetError::General("its pages contradict its footer".to_string()))),
    }
}

/// The [`Error::CorruptFile`] of a parquet error.
fn corrupt(path: &Path, error: &ParquetError) -> Error {
    let what = match error {
        ParquetError::General(what) | ParquetError::EOF(what) | ParquetError::NYI(what) => what.clone(),
        other => other.to_string(),
    };
    Error::corrupt_file(path, format!("the parquet file is corrupt or truncated ({what}); write it again"))
}
