//! A table of numbers as a source: streamed, never whole in memory.
//!
//! Opening reads the file once: it finds the header, checks every number of the columns that are read, counts the rows
//! and notes where every 256th of them starts. A visit then goes to the nearest note and parses only what it needs.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ::csv::ByteRecord;
use steradian::{Block, BlockData, ElementType, Error, Grid, Result, Rows, Shape, Source};

use crate::npy::npy_source::check_rows;
use crate::system::pread::{At, changed_length, length, open_regular};
use crate::table::cell::Cell;
use crate::table::csv_layout::CsvLayout;
use crate::table::csv_records::{BUFFER, Records, separator};
use crate::table::table_options::{Missing, TableOptions};
use crate::table::table_rows::KeptRows;

/// Rows between two notes of where a row starts.
const STRIDE: usize = 256;

/// Numbers in a text file with one row per line and fields apart by comma, semicolon or tab.
#[derive(Debug)]
pub struct CsvSource {
    path: PathBuf,
    file: File,
    bytes: u64,
    separator: u8,
    layout: CsvLayout,
    missing: Missing,
    shape: Shape,
    /// Where kept rows 0, 256, 512, ... start.
    starts: Vec<u64>,
    rows: KeptRows,
}

impl CsvSource {
    /// Opens a table and reads it once from end to end.
    pub fn open(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open_regular(path)?;
        let mut head = Vec::new();
        At::new(&file, 0).take(BUFFER as u64).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
        let mark = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let separator = separator(&head[mark..]);

        let records = || Records::new(path, &file, separator, mark as u64);
        let mut first = records();
        if first.next()?.is_none() {
            return Err(Error::invalid_data(format!("{}: the file holds no rows", path.display())));
        }
        let mut layout = CsvLayout::of(path, &first.record, options)?;
        if layout.only_numbers {
            layout.select_numbers(path, records().number_columns(&layout)?)?;
        }
        let scan = scan(&mut records().after_header(&layout)?, &layout, options)?;
        let features = layout.selected.len();
        Ok(Self {
            shape: Shape { samples: scan.rows.kept(), features, element: ElementType::F64, image: None },
            starts: scan.starts,
            rows: scan.rows,
            missing: options.missing,
            path: path.to_path_buf(),
            file,
            bytes,
            separator,
            layout,
        })
    }

    /// The names of the columns that are read, when the table has a header.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.layout.names.as_deref()
    }

    /// The name of a sample, when the table has row names.
    pub fn row_name(&self, sample: usize) -> Option<&str> {
        self.rows.row_name(sample)
    }

    /// The rows left out for a missing cell, counted from 0 after the header, in order.
    pub fn dropped_rows(&self) -> &[usize] {
        self.rows.dropped()
    }

    /// The row of the table, counted from 0 after the header, that a sample is: they differ once rows are left out.
    pub fn table_row(&self, sample: usize) -> usize {
        self.rows.table_row(sample)
    }

    /// Parses rows into one buffer, checking that they still read as they did when the file was opened.
    fn parse(&self, rows: &Range<usize>) -> Result<Vec<f64>> {
        let mut numbers = Vec::with_capacity(rows.len() * self.shape.features);
        let mut sample = rows.start - rows.start % STRIDE;
        let start = self.starts.get(sample / STRIDE).copied().unwrap_or(self.bytes);
        let mut records = Records::new(&self.path, &self.file, self.separator, start);
        let changed = |sample: usize| {
            let row = self.table_row(sample);
            let what = format!("row {row} reads otherwise than when the file was opened; another process changed it");
            Error::corrupt_file(&self.path, what)
        };
        while sample < rows.end {
            if records.next()?.is_none() || records.record.len() != self.layout.width {
                return Err(changed(sample));
            }
            // Rows before the first asked are only parsed when what they hold decides whether they count.
            if sample < rows.start && self.missing == Missing::Error {
                sample += 1;
                continue;
            }
            let parsed = numbers.len();
            let kept = append(&records.record, &self.layout, &mut numbers).map_err(|_| changed(sample))?;
            if !kept || sample < rows.start {
                numbers.truncate(parsed);
            }
            if !kept && self.missing == Missing::Error {
                return Err(changed(sample));
            }
            sample += usize::from(kept);
        }
        Ok(numbers)
    }
}

impl Source for CsvSource {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        let Shape { samples, features, .. } = self.shape;
        let block = Grid::new(samples, features, 0).block_rows().min(samples) * features * 8;
        // The numbers of a block for each thread, and where every few rows of the text begin.
        (threads * block + 8 * samples.div_ceil(STRIDE)) as u64
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        let now = length(&self.path, &self.file)?;
        if now != self.bytes {
            return Err(changed_length(&self.path, self.bytes, now));
        }
        let numbers = self.parse(&rows)?;
        visit(Block::new(rows.start, BlockData::F64(Rows::contiguous(&numbers, rows.len(), self.shape.features)?)))
    }
}

/// What one reading of the whole table finds.
#[derive(Default)]
struct CsvScan {
    rows: KeptRows,
    starts: Vec<u64>,
}

fn scan(records: &mut Records<'_>, layout: &CsvLayout, options: &TableOptions) -> Result<CsvScan> {
    let mut found = CsvScan::default();
    let mut numbers = Vec::new();
    let mut last = 0;
    while let Some(start) = records.next()? {
        last = start;
        let fields = records.record.len();
        if fields != layout.width {
            return Err(records.broken(start, format!("{fields} fields where the first row has {}", layout.width))?);
        }
        numbers.clear();
        match append(&records.record, layout, &mut numbers) {
            Ok(true) => {
                if found.rows.kept().is_multiple_of(STRIDE) {
                    found.starts.push(start);
                }
                found.rows.keep();
                if options.row_names {
                    found.rows.name(&String::from_utf8_lossy(&records.record[0]));
                }
            }
            Ok(false) if options.missing == Missing::Drop => found.rows.drop_row(),
            _ => return Err(records.bad_cell(start, found.rows.next_row(), layout, options.missing)?),
        }
    }
    records.check_closed(last)?;
    found.rows.check_any(records.path)?;
    Ok(found)
}

/// Appends a row's numbers; false when a cell is missing, an error when one is not a finite number.
fn append(record: &ByteRecord, layout: &CsvLayout, numbers: &mut Vec<f64>) -> std::result::Result<bool, ()> {
    let mut complete = true;
    for &field in &layout.selected {
        match Cell::of(&record[field]) {
            Cell::NumericEncoding(number) => numbers.push(number),
            Cell::Missing => complete = false,
            Cell::Infinite | Cell::Text => return Err(()),
        }
    }
    Ok(complete)
}
