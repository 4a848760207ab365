//! A parquet table as a source: decoded a piece at a time, never whole in memory.
//!
//! Row groups are cut into slabs of a few megabytes. Opening decodes every slab once: it checks the numbers and notes
//! which rows are left out. A visit then decodes the slabs it needs, or finds them kept from the visit before.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::column::reader::ColumnReader;
use steradian::{Block, BlockElement, ElementType, Error, Grid, Result, Rows, Shape, Source};

use crate::npy::element::FileElement;
use crate::npy::npy_source::check_rows;
use crate::system::pread::{changed_length, length, open_regular};
use crate::system::quote::quote;
use crate::table::decode_cache::DecodeCache;
use crate::table::parquet_columns::{ColumnType, names, numbers};
use crate::table::parquet_file::{ParquetFile, guarded};
use crate::table::table_options::{Missing, TableOptions};
use crate::table::table_rows::KeptRows;

/// How much is decoded at a time and kept.
struct Budget {
    /// Decoded bytes of a slab, about.
    slab_bytes: usize,
    /// Rows of a slab at least, however wide they are.
    least_rows: usize,
    /// Slabs that are kept, as long as they are not much larger than `slab_bytes`; two are kept in any case.
    slabs: usize,
    /// Bytes of undecoded pages that readers may hold between slabs.
    page_bytes: u64,
    /// Places of the file at which readers are kept at most.
    cursors: u64,
}

const BUDGET: Budget = Budget { slab_bytes: 4 << 20, least_rows: 64, slabs: 8, page_bytes: 64 << 20, cursors: 4 };

/// Numbers in a parquet file, one sample per row.
pub struct ParquetSource {
    path: PathBuf,
    handle: Arc<File>,
    bytes: u64,
    file: ParquetFile,
    /// The columns that are read, in the order asked.
    selected: Vec<usize>,
    names: Vec<String>,
    shape: Shape,
    missing: Missing,
    slabs: Vec<Slab>,
    rows: KeptRows,
    pieces: DecodeCache<SlabRows, Vec<ColumnReader>>,
    /// Whether readers are kept between slabs; those of wide tables would hold too many pages.
    keeps_readers: bool,
    /// Bytes of undecoded pages that readers hold, about.
    pages: u64,
}

impl fmt::Debug for ParquetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetSource").field("path", &self.path).field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// Rows of one group that are decoded together.
#[derive(Debug, Clone)]
struct Slab {
    group: usize,
    /// Rows of the group.
    rows: Range<usize>,
    /// The first sample in it.
    first: usize,
    /// How many samples it holds.
    kept: usize,
}

/// The kept rows of a slab, one after the other.
enum SlabRows {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl ParquetSource {
    /// Opens a table and decodes it once from end to end.
    pub fn open(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self> {
        Self::open_within(path.as_ref(), options, &BUDGET)
    }

    fn open_within(path: &Path, options: &TableOptions, budget: &Budget) -> Result<Self> {
        let (handle, bytes) = open_regular(path)?;
        let handle = Arc::new(handle);
        let file = ParquetFile::open(path, Arc::clone(&handle), bytes)?;
        if options.header.is_some() {
            let what = "a header option is for text, and parquet names its columns; leave the option out";
            return Err(Error::invalid_argument(format!("{}: {what}", path.display())));
        }
        let selected = file.choose(path, options)?;
        for &column in selected.iter().chain(options.row_names.then_some(&0)) {
            file.check_compression(path, column)?;
        }
        let single = selected.iter().all(|&column| file.kinds[column] == ColumnType::Single);
        let element = if single { ElementType::F32 } else { ElementType::F64 };
        let features = selected.len();
        let pages: u64 = selected.iter().map(|&column| file.page_bytes(column)).sum();
        let cursors = budget.cursors.min(budget.page_bytes / pages.max(1)) as usize;
        let row_bytes = features * element.bytes();
        let slab_rows = (budget.slab_bytes / row_bytes).max(budget.least_rows);
        let kept_slabs = (budget.slabs * budget.slab_bytes / (slab_rows * row_bytes)).clamp(2, budget.slabs.max(2));
        let mut source = Self {
            slabs: slabs(&file.groups, slab_rows),
            names: selected.iter().map(|&column| file.labels[column].clone()).collect(),
            shape: Shape { samples: 0, features, element, image: None },
            pieces: DecodeCache::new(kept_slabs, cursors),
            keeps_readers: cursors > 0,
            pages: pages * cursors.max(1) as u64,
            rows: KeptRows::default(),
            missing: options.missing,
            path: path.to_path_buf(),
            handle,
            bytes,
            file,
            selected,
        };
        source.scan(options.row_names)?;
        source.rows.check_any(path)?;
        source.shape.samples = source.rows.kept();
        Ok(source)
    }

    /// The names of the columns that are read.
    pub fn feature_names(&self) -> &[String] {
        &self.names
    }

    /// The name of a sample, when row names are read.
    pub fn row_name(&self, sample: usize) -> Option<&str> {
        self.rows.row_name(sample)
    }

    /// The rows left out for a missing cell, counted from 0, in order.
    pub fn dropped_rows(&self) -> &[usize] {
        self.rows.dropped()
    }

    /// The row of the table, counted from 0, that a sample is: they differ once rows are left out.
    pub fn table_row(&self, sample: usize) -> usize {
        self.rows.table_row(sample)
    }

    /// Decodes everything once, checks it, and notes which rows are kept and what they are called.
    fn scan(&mut self, row_names: bool) -> Result<()> {
        let mut readers = None;
        let mut namer = None;
        for index in 0..self.slabs.len() {
            let slab = self.slabs[index].clone();
            let (cells, left) = self.decode(&slab, readers.take())?;
            readers = left;
            let mut named = match row_names {
                true => self.row_names(&slab, &mut namer)?.into_iter(),
                false => Vec::new().into_iter(),
            };
            let first = self.rows.kept();
            for row in cells.chunks_exact(self.shape.features) {
                let name = named.next();
                if row.iter().all(|cell| cell.is_finite()) {
                    self.rows.keep();
                    if row_names {
                        self.rows.name(name.flatten().as_deref().unwrap_or_default());
                    }
                } else {
                    self.check_row(row)?;
                    self.rows.drop_row();
                }
            }
            self.slabs[index].first = first;
            self.slabs[index].kept = self.rows.kept() - first;
        }
        Ok(())
    }

    /// Fails unless the next row may be left out.
    fn check_row(&self, row: &[f64]) -> Result<()> {
        let infinite = row.iter().position(|cell| cell.is_infinite());
        let missing = row.iter().position(|cell| cell.is_nan()).filter(|_| self.missing == Missing::Error);
        let (place, what) = match (infinite, missing) {
            (Some(place), _) => (place, "is not finite; correct it or leave the row out"),
            (None, Some(place)) => {
                (place, "is missing (null or NaN); leave such rows out with --missing drop, or fill it in")
            }
            (None, None) => return Ok(()),
        };
        let (path, row) = (self.path.display(), self.rows.next_row());
        Err(Error::invalid_data(format!("{path}: row {row}, column {} {what}", quote(self.names[place].as_bytes()))))
    }

    /// The names of a slab's rows; the reader goes on within a group.
    fn row_names(&self, slab: &Slab, reader: &mut Option<ColumnReader>) -> Result<Vec<Option<String>>> {
        guarded(&self.path, || {
            if slab.rows.start == 0 {
                *reader = Some(self.file.column(slab.group, 0, 0)?);
            }
            let reader = reader.as_mut().expect("the first slab of a group opens it");
            names(reader, slab.rows.len())
        })
    }

    /// A slab's cells, row by row, and the readers that stand at its end if its group goes on. What is missing is NaN.
    fn decode(&self, slab: &Slab, readers: Option<Vec<ColumnReader>>) -> Result<(Vec<f64>, Option<Vec<ColumnReader>>)> {
        let (rows, features) = (slab.rows.len(), self.shape.features);
        let goes_on = self.keeps_readers && slab.rows.end < self.file.groups[slab.group];
        let mut standing = readers.map(Vec::into_iter);
        let mut left = Vec::new();
        let mut cells = vec![0.0; rows * features];
        guarded(&self.path, || {
            for (place, &column) in self.selected.iter().enumerate() {
                let mut reader = match standing.as_mut().and_then(Iterator::next) {
                    Some(reader) => reader,
                    None => self.file.column(slab.group, column, slab.rows.start)?,
                };
                let column = numbers(&mut reader, self.file.kinds[column], rows)?;
                cells[place..].iter_mut().step_by(features).zip(column).for_each(|(cell, number)| *cell = number);
                if goes_on {
                    left.push(reader);
                }
            }
            Ok(())
        })?;
        Ok((cells, goes_on.then_some(left)))
    }

    /// The kept rows of a slab.
    fn slab(&self, index: usize) -> Result<Arc<SlabRows>> {
        let slab = &self.slabs[index];
        self.pieces.get(index, |readers| {
            let (mut cells, readers) = self.decode(slab, readers)?;
            let features = self.shape.features;
            let mut kept = 0;
            for row in 0..slab.rows.len() {
                let place = row * features..(row + 1) * features;
                if cells[place.clone()].iter().all(|cell| cell.is_finite()) {
                    cells.copy_within(place, kept * features);
                    kept += 1;
                }
            }
            if kept != slab.kept {
                let rows = self.table_row(slab.first);
                let what = format!("near row {rows} the table reads otherwise than when it was opened");
                return Err(Error::corrupt_file(&self.path, format!("{what}; another process changed it")));
            }
            cells.truncate(kept * features);
            let numbers = match self.shape.element {
                ElementType::F32 => SlabRows::F32(cells.into_iter().map(|cell| cell as f32).collect()),
                _ => SlabRows::F64(cells),
            };
            Ok((numbers, readers))
        })
    }

    /// Hands samples to `visit`: lent from the slab that holds them all, else put together.
    fn visit_as<T: FileElement + BlockElement>(
        &self,
        samples: &Range<usize>,
        of: fn(&SlabRows) -> &[T],
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let features = self.shape.features;
        let mut lend = |numbers: &[T]| {
            visit(Block::new(samples.start, T::block_data(Rows::contiguous(numbers, samples.len(), features)?)))
        };
        // The last slab that starts at or before the first sample; empty ones before it start there too.
        let mut index = self.slabs.partition_point(|slab| slab.first <= samples.start).saturating_sub(1);
        let within = |slab: &Slab, range: &Range<usize>| {
            let end = range.end.min(slab.first + slab.kept);
            (range.start - slab.first) * features..(end - slab.first) * features
        };
        if self.slabs.get(index).is_some_and(|slab| samples.end <= slab.first + slab.kept) {
            let numbers = self.slab(index)?;
            return lend(&of(&numbers)[within(&self.slabs[index], samples)]);
        }
        let mut together: Vec<T> = Vec::with_capacity(samples.len() * features);
        let mut rest = samples.clone();
        while !rest.is_empty() {
            let slab = &self.slabs[index];
            if slab.kept > 0 {
                together.extend_from_slice(&of(&*self.slab(index)?)[within(slab, &rest)]);
            }
            rest.start = rest.end.min(slab.first + slab.kept);
            index += 1;
        }
        lend(&together)
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
        // Slabs that are kept, undecoded pages, and for each thread a slab in the making and a block across two.
        let kept = self.pieces.kept_pieces().min(self.slabs.len()) as u64;
        kept * slab * row + self.pages + threads as u64 * (2 * slab + block) * row
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        let now = length(&self.path, &self.handle)?;
        if now != self.bytes {
            return Err(changed_length(&self.path, self.bytes, now));
        }
        match self.shape.element {
            ElementType::F32 => self.visit_as::<f32>(&rows, SlabRows::single, visit),
            _ => self.visit_as::<f64>(&rows, SlabRows::double, visit),
        }
    }
}

impl SlabRows {
    fn single(&self) -> &[f32] {
        match self {
            Self::F32(numbers) => numbers,
            Self::F64(_) => unreachable!("every slab has the element of the table"),
        }
    }

    fn double(&self) -> &[f64] {
        match self {
            Self::F64(numbers) => numbers,
            Self::F32(_) => unreachable!("every slab has the element of the table"),
        }
    }
}

/// Row groups cut into slabs of at most so many rows.
fn slabs(groups: &[usize], most: usize) -> Vec<Slab> {
    let cut = |(group, &rows): (usize, &usize)| {
        let parts = (0..rows).step_by(most);
        parts.map(move |start| Slab { group, rows: start..(start + most).min(rows), first: 0, kept: 0 })
    };
    groups.iter().enumerate().flat_map(cut).collect()
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
        let (mut wanted, mut first) = (Vec::new(), 0);
        for &rows in groups {
            let mut group = file.next_row_group().unwrap();
            for j in 0..3 {
                let mut column = group.next_column().unwrap().unwrap();
                let there = |i: &usize| j != 1 || !i.is_multiple_of(7);
                let values: Vec<f64> = (first..first + rows).filter(there).map(|i| (10 * i + j) as f64).collect();
                let levels: Vec<i16> = (first..first + rows).map(|i| i16::from(there(&i))).collect();
                let levels = (j == 1).then_some(&levels[..]);
                column.typed::<DoubleType>().write_batch(&values, levels, None).unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
            let kept = (first..first + rows).filter(|i| i % 7 != 0);
            wanted.extend(kept.flat_map(|i| [0, 1, 2].map(|j| (10 * i + j) as f64)));
            first += rows;
        }
        file.close().unwrap();
        wanted
    }

    fn rows(source: &ParquetSource, range: Range<usize>) -> Vec<f64> {
        let mut seen = Vec::new();
        let mut keep = |block: Block<'_>| {
            let steradian::BlockData::F64(rows) = block.data() else { panic!("doubles were written") };
            seen.extend((0..rows.rows()).flat_map(|i| [0, 1, 2].map(|j| rows.get(i, j))));
            Ok(())
        };
        source.visit(range, &mut keep).unwrap();
        seen
    }

    /// Slabs of every size, with readers kept or not, give the same rows in any order of visits.
    #[test]
    fn slabs_and_readers_do_not_show() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let wanted = write(&path, &[50, 1, 7, 30, 64]);
        let options = TableOptions { missing: Missing::Drop, ..TableOptions::default() };
        for least_rows in [1, 3, 10, 11, 12, 50, 1000] {
            for (page_bytes, slabs) in [(0, 2), (u64::MAX, 2), (u64::MAX, 3)] {
                let budget = Budget { slab_bytes: 0, least_rows, slabs, page_bytes, cursors: 2 };
                let source = ParquetSource::open_within(&path, &options, &budget).unwrap();
                let samples = source.shape().samples;
                assert_eq!(samples * 3, wanted.len());
                assert_eq!(source.keeps_readers, page_bytes > 0);
                assert_eq!(rows(&source, 0..samples), wanted);
                for step in [1, 4, 13] {
                    // From both ends at once, as two threads would, then backwards.
                    let starts: Vec<usize> = (0..samples).step_by(step).collect();
                    let both = starts.iter().zip(starts.iter().rev()).flat_map(|(&a, &b)| [a, b]);
                    for start in both.chain(starts.iter().rev().copied()) {
                        let end = (start + step).min(samples);
                        assert_eq!(rows(&source, start..end), wanted[3 * start..3 * end], "{least_rows} {step}");
                    }
                }
                assert!(rows(&source, samples..samples).is_empty());
            }
        }
    }

    #[test]
    fn threads_see_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let wanted = write(&path, &[200, 200]);
        let options = TableOptions { missing: Missing::Drop, ..TableOptions::default() };
        let budget = Budget { slab_bytes: 0, least_rows: 16, slabs: 2, page_bytes: u64::MAX, cursors: 2 };
        let source = ParquetSource::open_within(&path, &options, &budget).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..7 {
                let (source, wanted) = (&source, &wanted);
                scope.spawn(move || {
                    for i in 0..200 {
                        let start = (i * 37 + thread * 53) % (source.shape().samples - 20);
                        assert_eq!(rows(source, start..start + 20), wanted[3 * start..3 * (start + 20)]);
                    }
                });
            }
        });
    }
}
