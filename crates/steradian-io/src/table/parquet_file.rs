//! A parquet file as threads share it: bytes by position, its schema, and column readers that start at any row.

use std::fs::File;
use std::io::{BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use steradian::{Error, Result};

use crate::system::pread::At;
use crate::system::quote::quote;
use crate::table::columns::{list, number_remedy, select};
use crate::table::parquet_columns::{ColumnType, skip};
use crate::table::table_options::TableOptions;

/// Positions of their own over one open file; the crate's own reader of files moves one shared cursor.
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
    type T = BufReader<At<Arc<File>>>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(At::new(Arc::clone(&self.file), start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // Looked at first: a damaged length must not be allocated.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            let what = format!("{length} bytes at byte {start} of a file of {}", self.bytes);
            return Err(ParquetError::EOF(what));
        }
        let mut bytes = vec![0; length];
        At::new(Arc::clone(&self.file), start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// The schema of a parquet file and readers of its columns.
pub(crate) struct ParquetFile {
    reader: SerializedFileReader<SharedFile>,
    /// What each column is called.
    pub(crate) labels: Vec<String>,
    /// What each column holds.
    pub(crate) kinds: Vec<ColumnType>,
    /// Rows of each group.
    pub(crate) groups: Vec<usize>,
}

impl ParquetFile {
    /// Reads the footer.
    pub(crate) fn open(path: &Path, file: Arc<File>, bytes: u64) -> Result<Self> {
        let reader = guarded(path, || SerializedFileReader::new(SharedFile { file, bytes }))?;
        reader.metadata().row_groups().iter().try_for_each(|group| check_group(path, group, bytes))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let columns = schema.columns();
        let groups = reader.metadata().row_groups().iter().map(|group| usize::try_from(group.num_rows()));
        let groups = groups.collect::<std::result::Result<_, _>>();
        Ok(Self {
            labels: columns.iter().map(|column| column.path().string()).collect(),
            kinds: columns.iter().map(|column| ColumnType::of(column)).collect(),
            groups: groups.map_err(|_| Error::corrupt_file(path, "a row group has a negative number of rows"))?,
            reader,
        })
    }

    /// The columns that are asked for; fails when one of them does not hold numbers.
    pub(crate) fn choose(&self, path: &Path, options: &TableOptions) -> Result<Vec<usize>> {
        let data = usize::from(options.row_names)..self.labels.len();
        if data.is_empty() {
            let what =
                if options.row_names { "the only column holds the rows' names" } else { "the table has no column" };
            return Err(Error::invalid_data(format!("{}: {what}; there is nothing to read", path.display())));
        }
        let (first, labels) = (data.start, &self.labels[data.start..]);
        let numbers: Vec<usize> = data.clone().filter(|&c| self.is_number(c) && !self.is_index(c)).collect();
        let selected: Vec<usize> = match &options.columns {
            None => data.filter(|&column| !self.is_index(column)).collect(),
            Some(_) if options.only_numbers(labels) => numbers.clone(),
            Some(columns) => select(path, columns, labels, true)?.into_iter().map(|place| first + place).collect(),
        };
        let others: Vec<String> = selected.iter().filter_map(|&column| self.described(column)).collect();
        let what = match others.len() {
            0 if !selected.is_empty() => return Ok(selected),
            0 => String::new(),
            1 => format!("column {} does not hold numbers; ", others[0]),
            _ => format!("columns {} do not hold numbers; ", list(&others)),
        };
        let numbers: Vec<String> = numbers.iter().map(|&column| self.labels[column].clone()).collect();
        Err(Error::invalid_data(format!("{}: {what}{}", path.display(), number_remedy(&numbers, options.row_names))))
    }

    fn is_number(&self, column: usize) -> bool {
        !matches!(self.kinds[column], ColumnType::Other(_))
    }

    /// Whether pandas made the column from an index without a name.
    fn is_index(&self, column: usize) -> bool {
        self.labels[column].starts_with("__index_level_")
    }

    /// A column and what it holds instead of numbers, for messages.
    fn described(&self, column: usize) -> Option<String> {
        match self.kinds[column] {
            ColumnType::Other(what) => Some(format!("{} ({what})", quote(self.labels[column].as_bytes()))),
            _ => None,
        }
    }

    /// Fails when a column is compressed in a way that is not read.
    pub(crate) fn check_compression(&self, path: &Path, column: usize) -> Result<()> {
        for group in self.reader.metadata().row_groups() {
            match group.column(column).compression() {
                Compression::BROTLI(_) | Compression::LZO => {
                    let (path, name) = (path.display(), group.column(column).compression_codec());
                    return Err(Error::invalid_data(format!(
                        "{path}: column {} is compressed with {name}, which is not read; write it with zstd or snappy",
                        self.labels[column]
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Bytes of the largest page of a column that a writer makes: a whole column of a group when that is small.
    pub(crate) fn page_bytes(&self, column: usize) -> u64 {
        const USUAL_PAGE: u64 = 1 << 20;
        let sizes = self.reader.metadata().row_groups().iter().map(|group| group.column(column).uncompressed_size());
        sizes.max().map_or(0, |largest| USUAL_PAGE.min(largest.max(0).cast_unsigned()))
    }

    /// A reader of a column of a row group that starts at a row of it.
    pub(crate) fn column(&self, group: usize, column: usize, row: usize) -> ParquetResult<ColumnReader> {
        let mut reader = self.reader.get_row_group(group)?.get_column_reader(column)?;
        if row > 0 {
            skip(&mut reader, row)?;
        }
        Ok(reader)
    }
}

/// Fails when the footer speaks of bytes or rows that cannot be: the crate would panic over some of these.
fn check_group(path: &Path, group: &RowGroupMetaData, bytes: u64) -> Result<()> {
    let damaged = |what: &str| Err(broken(path, &ParquetError::General(what.to_string())));
    for column in group.columns() {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size()).and_then(|end| u64::try_from(end).ok());
        if start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end > bytes) {
            return damaged("a column lies outside of the file");
        }
        if column.column_descr().max_rep_level() == 0 && column.num_values() != group.num_rows() {
            return damaged("a column and its row group have different numbers of rows");
        }
    }
    Ok(())
}

/// Runs a call into the crate; whatever it does over damaged bytes becomes an error of that file.
pub(crate) fn guarded<T>(path: &Path, call: impl FnOnce() -> ParquetResult<T>) -> Result<T> {
    // What the call was working on is given up with it, so nothing half done is seen again.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done.map_err(|e| broken(path, &e)),
        Err(_) => Err(broken(path, &ParquetError::General("its pages contradict its footer".to_string()))),
    }
}

/// The error of a file whose content is not what the format says.
fn broken(path: &Path, error: &ParquetError) -> Error {
    let what = match error {
        ParquetError::General(what) | ParquetError::EOF(what) | ParquetError::NYI(what) => what.clone(),
        other => other.to_string(),
    };
    Error::corrupt_file(path, format!("the parquet file is damaged or incomplete ({what}); write it anew"))
}
