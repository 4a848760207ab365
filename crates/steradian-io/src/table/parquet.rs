//! A parquet table as a source: decoded slab by slab, never completely in memory.
//!
//! Row groups are split into slabs of a few MiB. Opening decodes every slab once: it validates the cells and records
//! the dropped rows. A visit decodes the slabs it needs, or takes them from a cache.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::column::reader::ColumnReader;
use steradian::data::{Block, BlockElement, ElementType, Rows, Shape};
use steradian::engine::Grid;
use steradian::error::format_bytes;
use steradian::memory::{self, CollectReserved};
use steradian::{Error, Result, Source};

use crate::npy::element::FileElement;
use crate::npy::npy_source::check_rows;
use crate::system::pread::{changed_length, length, open_regular};
use crate::system::quote::quote;
use crate::table::decode_cache::DecodeCache;
use crate::table::parquet_columns::{ColumnType, names, numbers};
use crate::table::parquet_file::{ParquetFile, guarded};
use crate::table::table_options::{Header, MissingRule, TableOptions};
use crate::table::table_rows::TableRows;

/// Limits of the memory for decoded slabs and undecoded pages.
struct Budget {
    /// Approximate decoded size of a slab in bytes.
    slab_bytes: usize,
    /// Smallest number of rows per slab, whatever their width.
    min_rows: usize,
    /// Largest number of slabs in the cache: fewer if slabs are larger than `slab_bytes`, but at least two.
    slabs: usize,
    /// Bytes of undecoded pages that readers may retain between slabs.
    page_bytes: u64,
    /// Largest number of cursors, each with one reader per column.
    cursors: u64,
}

const BUDGET: Budget = Budget { slab_bytes: 4 << 20, min_rows: 64, slabs: 8, page_bytes: 64 << 20, cursors: 4 };

/// Decoded size of a table that is always accepted, in bytes.
const MAX_TABLE_BYTES: u64 = 256 << 20;
/// Largest ratio of the decoded size of a larger table to its file. Run lengths and dictionaries can exceed any ratio, but
/// only for columns that are almost constant.
const MAX_TABLE_RATIO: u64 = 4096;
/// Largest ratio of the total size of row names to the file, if they exceed [`MAX_TABLE_BYTES`].
const MAX_NAME_RATIO: u64 = 64;

/// The numeric columns of a parquet file, one sample per row.
pub struct ParquetSource {
    path: PathBuf,
    handle: Arc<File>,
    bytes: u64,
    file: ParquetFile,
    /// Indices of the selected columns, in the order of the selection.
    selected: Vec<usize>,
    names: Vec<String>,
    shape: Shape,
    missing: MissingRule,
    has_row_names: bool,
    slabs: Vec<Slab>,
    rows: TableRows,
    cache: DecodeCache<SlabRows, Vec<ColumnReader>>,
    /// True if readers are reused for the next slab; those of wide tables would retain too many pages.
    reuses_readers: bool,
    /// Approximate number of bytes of undecoded pages that readers retain.
    page_bytes: u64,
}

impl fmt::Debug for ParquetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetSource").field("path", &self.path).field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// Consecutive rows of one group that are decoded together.
#[derive(Debug, Clone)]
struct Slab {
    group: usize,
    /// Rows within the group.
    rows: Range<usize>,
    /// Index of the first sample.
    first: usize,
    /// Number of samples.
    samples: usize,
}

/// The samples of a slab, row by row.
enum SlabRows {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl ParquetSource {
    /// Opens a table and decodes it once completely.
    pub fn open(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self> {
        Self::open_within(path.as_ref(), options, &BUDGET)
    }

    fn open_within(path: &Path, options: &TableOptions, budget: &Budget) -> Result<Self> {
        let (handle, bytes) = open_regular(path)?;
        let handle = Arc::new(handle);
        let file = ParquetFile::open(path, Arc::clone(&handle), bytes)?;
        if options.header != Header::Auto {
            let problem = "a header setting applies only to text tables: parquet stores the column names";
            return Err(Error::invalid_parameter("header", format!("{}: {problem}", path.display())));
        }
        let selected = file.select_columns(path, options)?;
        for &column in selected.iter().chain(options.row_names.then_some(&0)) {
            file.check_compression(path, column)?;
            file.check_pages(path, column)?;
        }
        check_rows_of_file(path, &file.groups, selected.len(), bytes)?;
        let all_f32 = selected.iter().all(|&column| file.types[column] == ColumnType::Float32);
        let element = if all_f32 { ElementType::F32 } else { ElementType::F64 };
        let features = selected.len();
        let pages: u64 = selected.iter().map(|&column| file.page_bytes(column)).sum();
        let cursors = budget.cursors.min(budget.page_bytes / pages.max(1)) as usize;
        let row_bytes = features * element.bytes();
        let slab_rows = (budget.slab_bytes / row_bytes).max(budget.min_rows);
        let max_slabs = (budget.slabs * budget.slab_bytes / (slab_rows * row_bytes)).clamp(2, budget.slabs.max(2));
        let mut source = Self {
            slabs: slabs(&file.groups, slab_rows),
            names: selected.iter().map(|&column| file.labels[column].clone()).collect(),
            shape: Shape { samples: 0, features, element, image: None },
            cache: DecodeCache::new(max_slabs, cursors),
            reuses_readers: cursors > 0,
            page_bytes: pages * cursors.max(1) as u64,
            rows: TableRows::default(),
            missing: options.missing,
            has_row_names: options.row_names,
            path: path.to_path_buf(),
            handle,
            bytes,
            file,
            selected,
        };
        source.scan(options.row_names)?;
        source.rows.check_any(path)?;
        source.shape.samples = source.rows.samples();
        Ok(source)
    }

    /// The names of the selected columns.
    pub fn feature_names(&self) -> &[String] {
        &self.names
    }

    /// The name of a sample, if row names are read.
    pub fn row_name(&self, sample: usize) -> Option<&str> {
        self.rows.row_name(sample)
    }

    /// The name of the column with row names, if row names are read.
    pub fn row_names_header(&self) -> Option<&str> {
        self.has_row_names.then(|| self.file.labels[0].as_str())
    }

    /// The rows dropped because of a missing cell, from 0, in order.
    pub fn dropped_rows(&self) -> &[usize] {
        self.rows.dropped()
    }

    /// Index of the row of a sample, from 0; it differs from the index of the sample after dropped rows.
    pub fn table_row(&self, sample: usize) -> usize {
        self.rows.table_row(sample)
    }

    /// Decodes and validates all slabs; records the samples, their names and the dropped rows.
    fn scan(&mut self, row_names: bool) -> Result<()> {
        let mut readers = None;
        let mut name_reader = None;
        for index in 0..self.slabs.len() {
            let slab = self.slabs[index].clone();
            let (cells, at_end) = self.decode(&slab, readers.take())?;
            readers = at_end;
            let mut names = match row_names {
                true => self.row_names(&slab, &mut name_reader)?.into_iter(),
                false => Vec::new().into_iter(),
            };
            let name_bytes = self.rows.name_bytes() as u64;
            if name_bytes > MAX_TABLE_BYTES.max(self.bytes.saturating_mul(MAX_NAME_RATIO)) {
                let (names, bytes) = (format_bytes(name_bytes), format_bytes(self.bytes));
                let what = format!(
                    "the row names in a file of {bytes} take {names}, more than {MAX_NAME_RATIO} times its size"
                );
                return Err(Error::corrupt_file(&self.path, what));
            }
            let first = self.rows.samples();
            for row in cells.chunks_exact(self.shape.features) {
                let name = names.next();
                if self.is_sample(row) {
                    self.rows.add_sample();
                    if row_names {
                        self.rows.set_name(name.flatten().as_deref().unwrap_or_default());
                    }
                } else {
                    self.check_row(row)?;
                    self.rows.drop_row();
                }
            }
            self.slabs[index].first = first;
            self.slabs[index].samples = self.rows.samples() - first;
        }
        Ok(())
    }

    /// True for a row that is a sample: it is complete, or its missing cells are used.
    fn is_sample(&self, row: &[f64]) -> bool {
        match self.missing {
            MissingRule::Use => !row.iter().any(|cell| cell.is_infinite()),
            MissingRule::Error | MissingRule::Drop => row.iter().all(|cell| cell.is_finite()),
        }
    }

    /// Fails unless the next row can be dropped.
    fn check_row(&self, row: &[f64]) -> Result<()> {
        let place =
            |column: usize| format!("row {}, column {}", self.rows.next_row(), quote(self.names[column].as_bytes()));
        if let Some(column) = row.iter().position(|cell| cell.is_infinite()) {
            return Err(Error::invalid_data(format!(
                "{}: {} is not finite; correct the cell or remove the row",
                self.path.display(),
                place(column)
            )));
        }
        match row.iter().position(|cell| cell.is_nan()) {
            Some(column) if self.missing == MissingRule::Error => Err(Error::MissingCell {
                path: self.path.clone(),
                place: place(column),
                text: "null or NaN".to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// The names of the rows of a slab; `reader` is reused within a row group.
    fn row_names(&self, slab: &Slab, reader: &mut Option<ColumnReader>) -> Result<Vec<Option<String>>> {
        guarded(&self.path, || {
            if slab.rows.start == 0 {
                *reader = Some(self.file.column(slab.group, 0, 0)?);
            }
            let reader = reader.as_mut().expect("the first slab of a group opens it");
            names(reader, slab.rows.len())
        })
    }

    /// The cells of a slab, row by row, NaN if missing; and the readers at its end, unless it is the last of its group.
    fn decode(&self, slab: &Slab, readers: Option<Vec<ColumnReader>>) -> Result<(Vec<f64>, Option<Vec<ColumnReader>>)> {
        let (rows, features) = (slab.rows.len(), self.shape.features);
        let reuses = self.reuses_readers && slab.rows.end < self.file.groups[slab.group];
        let mut readers = readers.map(Vec::into_iter);
        let mut at_end = Vec::new();
        let mut cells = memory::filled(rows * features, 0.0);
        guarded(&self.path, || {
            for (feature, &column) in self.selected.iter().enumerate() {
                let mut reader = match readers.as_mut().and_then(Iterator::next) {
                    Some(reader) => reader,
                    None => self.file.column(slab.group, column, slab.rows.start)?,
                };
                let column = numbers(&mut reader, self.file.types[column], rows)?;
                cells[feature..].iter_mut().step_by(features).zip(column).for_each(|(cell, number)| *cell = number);
                if reuses {
                    at_end.push(reader);
                }
            }
            Ok(())
        })?;
        Ok((cells, reuses.then_some(at_end)))
    }

    /// The samples of a slab.
    fn slab(&self, index: usize) -> Result<Arc<SlabRows>> {
        let slab = &self.slabs[index];
        self.cache.get(index, |readers| {
            let (mut cells, readers) = self.decode(slab, readers)?;
            let features = self.shape.features;
            let mut samples = 0;
            for row in 0..slab.rows.len() {
                let range = row * features..(row + 1) * features;
                if self.is_sample(&cells[range.clone()]) {
                    cells.copy_within(range, samples * features);
                    samples += 1;
                }
            }
            if samples != slab.samples {
                let row = self.table_row(slab.first);
                let what = format!("rows near row {row} changed after the file was opened");
                return Err(Error::corrupt_file(&self.path, what));
            }
            cells.truncate(samples * features);
            let numbers = match self.shape.element {
                ElementType::F32 => SlabRows::F32(cells.iter().map(|cell| *cell as f32).collect_reserved()),
                _ => SlabRows::F64(cells),
            };
            Ok((numbers, readers))
        })
    }

    /// Passes samples to `visit`: borrowed from a slab that contains all of them, else copied together.
    fn visit_as<T: FileElement + BlockElement>(
        &self,
        samples: &Range<usize>,
        of: fn(&SlabRows) -> &[T],
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let features = self.shape.features;
        let mut visit_numbers = |numbers: &[T]| {
            visit(Block::new(samples.start, T::block_data(Rows::contiguous(numbers, samples.len(), features)?)))
        };
        // The last slab that starts at or before the first sample; slabs without samples may start there, too.
        let mut index = self.slabs.partition_point(|slab| slab.first <= samples.start).saturating_sub(1);
        let within = |slab: &Slab, range: &Range<usize>| {
            let end = range.end.min(slab.first + slab.samples);
            (range.start - slab.first) * features..(end - slab.first) * features
        };
        if self.slabs.get(index).is_some_and(|slab| samples.end <= slab.first + slab.samples) {
            let numbers = self.slab(index)?;
            return visit_numbers(&of(&numbers)[within(&self.slabs[index], samples)]);
        }
        let mut copied: Vec<T> = memory::reserved(samples.len() * features);
        let mut rest = samples.clone();
        while !rest.is_empty() {
            let slab = &self.slabs[index];
            if slab.samples > 0 {
                copied.extend_from_slice(&of(&*self.slab(index)?)[within(slab, &rest)]);
            }
            rest.start = rest.end.min(slab.first + slab.samples);
            index += 1;
        }
        visit_numbers(&copied)
    }
}

impl Source for ParquetSource {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        let row = self.shape.features as u64 * 8;
        let block = Grid::new(self.shape.samples, self.shape.features, 0).block_rows().min(self.shape.samples) as u64;
        let slab = self.slabs.iter().map(|slab| slab.rows.len()).max().unwrap_or(0) as u64;
        // Slabs in the cache, undecoded pages, and per thread a slab that is being decoded and a block across two
        // slabs.
        let cached = self.cache.max_chunks().min(self.slabs.len()) as u64;
        cached * slab * row + self.page_bytes + threads as u64 * (2 * slab + block) * row
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        let now = length(&self.path, &self.handle)?;
        if now != self.bytes {
            return Err(changed_length(&self.path, self.bytes, now));
        }
        match self.shape.element {
            ElementType::F32 => self.visit_as::<f32>(&rows, SlabRows::as_f32, visit),
            _ => self.visit_as::<f64>(&rows, SlabRows::as_f64, visit),
        }
    }
}

impl SlabRows {
    fn as_f32(&self) -> &[f32] {
        match self {
            Self::F32(numbers) => numbers,
            Self::F64(_) => unreachable!("every slab has the element type of the table"),
        }
    }

    fn as_f64(&self) -> &[f64] {
        match self {
            Self::F64(numbers) => numbers,
            Self::F32(_) => unreachable!("every slab has the element type of the table"),
        }
    }
}

/// Fails if a file declares more rows than its size justifies: the slabs, and a fit, take memory per row.
fn check_rows_of_file(path: &Path, groups: &[usize], columns: usize, bytes: u64) -> Result<()> {
    let rows = groups.iter().fold(0u64, |rows, &group| rows.saturating_add(group as u64));
    let decoded = rows.saturating_mul(8 * columns as u64);
    if decoded <= MAX_TABLE_BYTES.max(bytes.saturating_mul(MAX_TABLE_RATIO)) {
        return Ok(());
    }
    Err(Error::corrupt_file(
        path,
        format!(
            "the file of {} declares {rows} rows x {columns} columns, {} when decoded, more than {MAX_TABLE_RATIO} times its \
             size; its columns are almost constant, or it is corrupt",
            format_bytes(bytes),
            format_bytes(decoded)
        ),
    ))
}

/// Splits row groups into slabs of at most `max_rows` rows.
fn slabs(groups: &[usize], max_rows: usize) -> Vec<Slab> {
    let split = |(group, &rows): (usize, &usize)| {
        let starts = (0..rows).step_by(max_rows);
        starts.map(move |start| Slab { group, rows: start..(start + max_rows).min(rows), first: 0, samples: 0 })
    };
    groups.iter().enumerate().flat_map(split).collect()
}

#[cfg(test)]
mod tests {
    use ::parquet::data_type::DoubleType;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    /// Cell (i, j) is 10 i + j; every seventh row has a null; pages and groups are small and uneven.
    fn write(path: &Path, groups: &[usize]) -> Vec<f64> {
        let schema = "message t { required double a; optional double b; required double c; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = WriterProperties::builder()
            .set_data_page_row_count_limit(11)
            .set_write_batch_size(5)
            .set_dictionary_enabled(false);
        let mut file =
            SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties.build())).unwrap();
        let (mut expected, mut first) = (Vec::new(), 0);
        for &rows in groups {
            let mut group = file.next_row_group().unwrap();
            for j in 0..3 {
                let mut column = group.next_column().unwrap().unwrap();
                let present = |i: &usize| j != 1 || !i.is_multiple_of(7);
                let values: Vec<f64> = (first..first + rows).filter(present).map(|i| (10 * i + j) as f64).collect();
                let levels: Vec<i16> = (first..first + rows).map(|i| i16::from(present(&i))).collect();
                let levels = (j == 1).then_some(&levels[..]);
                column.typed::<DoubleType>().write_batch(&values, levels, None).unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
            let complete = (first..first + rows).filter(|i| i % 7 != 0);
            expected.extend(complete.flat_map(|i| [0, 1, 2].map(|j| (10 * i + j) as f64)));
            first += rows;
        }
        file.close().unwrap();
        expected
    }

    fn rows(source: &ParquetSource, range: Range<usize>) -> Vec<f64> {
        let mut numbers = Vec::new();
        let mut collect = |block: Block<'_>| {
            let steradian::data::BlockData::F64(rows) = block.data() else { panic!("f64 values were written") };
            numbers.extend((0..rows.rows()).flat_map(|i| [0, 1, 2].map(|j| rows.get(i, j))));
            Ok(())
        };
        source.visit(range, &mut collect).unwrap();
        numbers
    }

    /// Rows do not depend on the size of slabs, the reuse of readers and the order of visits.
    #[test]
    fn rows_do_not_depend_on_slabs_and_readers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let expected = write(&path, &[50, 1, 7, 30, 64]);
        let options = TableOptions { missing: MissingRule::Drop, ..TableOptions::default() };
        for min_rows in [1, 3, 10, 11, 12, 50, 1000] {
            for (page_bytes, slabs) in [(0, 2), (u64::MAX, 2), (u64::MAX, 3)] {
                let budget = Budget { slab_bytes: 0, min_rows, slabs, page_bytes, cursors: 2 };
                let source = ParquetSource::open_within(&path, &options, &budget).unwrap();
                let samples = source.shape().samples;
                assert_eq!(samples * 3, expected.len());
                assert_eq!(source.reuses_readers, page_bytes > 0);
                assert_eq!(rows(&source, 0..samples), expected);
                for step in [1, 4, 13] {
                    // From both ends at once, as two threads would, then backwards.
                    let starts: Vec<usize> = (0..samples).step_by(step).collect();
                    let both = starts.iter().zip(starts.iter().rev()).flat_map(|(&a, &b)| [a, b]);
                    for start in both.chain(starts.iter().rev().copied()) {
                        let end = (start + step).min(samples);
                        assert_eq!(rows(&source, start..end), expected[3 * start..3 * end], "{min_rows} {step}");
                    }
                }
                assert!(rows(&source, samples..samples).is_empty());
            }
        }
    }

    #[test]
    fn threads_read_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let expected = write(&path, &[200, 200]);
        let options = TableOptions { missing: MissingRule::Drop, ..TableOptions::default() };
        let budget = Budget { slab_bytes: 0, min_rows: 16, slabs: 2, page_bytes: u64::MAX, cursors: 2 };
        let source = ParquetSource::open_within(&path, &options, &budget).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..7 {
                let (source, expected) = (&source, &expected);
                scope.spawn(move || {
                    for i in 0..200 {
                        let start = (i * 37 + thread * 53) % (source.shape().samples - 20);
                        assert_eq!(rows(source, start..start + 20), expected[3 * start..3 * (start + 20)]);
                    }
                });
            }
        });
    }
}
