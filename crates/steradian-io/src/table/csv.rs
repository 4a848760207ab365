//! A text table as a source: streamed, never completely in memory.
//!
//! Opening reads the file once: it detects the header, validates every cell of the selected columns, counts the rows
//! and records the start of every 256th sample. A visit seeks to the nearest recorded start and parses only the rows it
//! needs.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ::csv::ByteRecord;
use steradian::data::{Block, BlockData, ElementType, Rows, Shape};
use steradian::engine::Grid;
use steradian::memory;
use steradian::{Error, Result, Source};

use crate::npy::npy_source::check_rows;
use crate::system::pread::{PositionedReader, changed_length, length, open_regular};
use crate::table::cell::Cell;
use crate::table::csv_layout::CsvLayout;
use crate::table::csv_records::{BUFFER, Records, separator};
use crate::table::first_row::FirstRow;
use crate::table::table_options::{Header, MissingRule, TableOptions};
use crate::table::table_rows::TableRows;

/// Number of samples between two recorded starts.
const STRIDE: usize = 256;

/// A text file with one row per line and fields separated by comma, semicolon or tab.
#[derive(Debug)]
pub struct CsvSource {
    path: PathBuf,
    file: File,
    bytes: u64,
    separator: u8,
    layout: CsvLayout,
    missing: MissingRule,
    shape: Shape,
    /// Start bytes of samples 0, 256, 512, ...
    starts: Vec<u64>,
    rows: TableRows,
    number_header: Option<[f64; 2]>,
}

impl CsvSource {
    /// Opens a table and reads it once completely.
    pub fn open(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open_regular(path)?;
        let mut head = Vec::new();
        PositionedReader::new(&file, 0).take(BUFFER as u64).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
        let bom = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let separator = separator(&head[bom..]);

        let records = || Records::new(path, &file, separator, bom as u64);
        let mut first = records();
        if first.next()?.is_none() {
            return Err(Error::invalid_data(format!("{}: the file contains no rows", path.display())));
        }
        let mut layout = CsvLayout::of(path, &first.record, options)?;
        if layout.selects_numeric {
            layout.select_numeric(path, records().numeric_columns(&layout)?)?;
        }
        let scan = scan(&mut records().after_header(&layout)?, &layout, options)?;
        let features = layout.selected.len();
        Ok(Self {
            shape: Shape { samples: scan.rows.samples(), features, element: ElementType::F64, image: None },
            starts: scan.starts,
            rows: scan.rows,
            number_header: scan.first.number_header().filter(|_| options.header == Header::Auto && !layout.header),
            missing: options.missing,
            path: path.to_path_buf(),
            file,
            bytes,
            separator,
            layout,
        })
    }

    /// The names of the selected columns, if the table has a header.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.layout.names.as_deref()
    }

    /// The name of a sample, if the table has row names.
    pub fn row_name(&self, sample: usize) -> Option<&str> {
        self.rows.row_name(sample)
    }

    /// The header of the row names, if the table has row names; empty if the table has no header.
    pub fn row_names_header(&self) -> Option<&str> {
        self.layout.row_names_header()
    }

    /// Values of the first and the last column of the first row, if that was taken for a sample but looks like a header of
    /// numbers, such as wavelengths: it rises or falls from column to column, unlike most other rows.
    pub fn number_header(&self) -> Option<[f64; 2]> {
        self.number_header
    }

    /// The rows dropped because of a missing cell, from 0 after the header, in order.
    pub fn dropped_rows(&self) -> &[usize] {
        self.rows.dropped()
    }

    /// Index of the row of a sample, from 0 after the header; it differs from the index of the sample after dropped
    /// rows.
    pub fn table_row(&self, sample: usize) -> usize {
        self.rows.table_row(sample)
    }

    /// Parses samples into one buffer; fails if the file has changed since it was opened.
    fn parse(&self, rows: &Range<usize>) -> Result<Vec<f64>> {
        let mut numbers = memory::reserved(rows.len() * self.shape.features);
        let mut sample = rows.start - rows.start % STRIDE;
        let start = self.starts.get(sample / STRIDE).copied().unwrap_or(self.bytes);
        let mut records = Records::new(&self.path, &self.file, self.separator, start);
        let changed = |sample: usize| {
            let row = self.table_row(sample);
            Error::corrupt_file(&self.path, format!("row {row} changed after the file was opened"))
        };
        while sample < rows.end {
            if records.next()?.is_none() || records.record.len() != self.layout.width {
                return Err(changed(sample));
            }
            // Rows before the first requested one are parsed only if a missing cell may drop them.
            if sample < rows.start && self.missing != MissingRule::Drop {
                sample += 1;
                continue;
            }
            let parsed = numbers.len();
            let complete = append(&records.record, &self.layout, &mut numbers).map_err(|_| changed(sample))?;
            let is_sample = complete || self.missing == MissingRule::Use;
            if !is_sample || sample < rows.start {
                numbers.truncate(parsed);
            }
            if !complete && self.missing == MissingRule::Error {
                return Err(changed(sample));
            }
            sample += usize::from(is_sample);
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
        // A block and the buffers of its text for each thread, and the recorded starts.
        (threads * (block + 4 * BUFFER) + 8 * samples.div_ceil(STRIDE)) as u64
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

/// The result of one pass over the whole table.
#[derive(Default)]
struct CsvScan {
    rows: TableRows,
    /// Start bytes of samples 0, 256, 512, ...
    starts: Vec<u64>,
    first: FirstRow,
}

/// Validates all rows of a table.
fn scan(records: &mut Records<'_>, layout: &CsvLayout, options: &TableOptions) -> Result<CsvScan> {
    let mut scan = CsvScan::default();
    let mut numbers = Vec::new();
    let mut last = 0;
    while let Some(start) = records.next()? {
        last = start;
        let fields = records.record.len();
        if fields != layout.width {
            return Err(records
                .corrupt(start, format!("expected {} fields as in the first row, got {fields}", layout.width))?);
        }
        numbers.clear();
        match append(&records.record, layout, &mut numbers) {
            Ok(complete) if complete || options.missing == MissingRule::Use => {
                if scan.rows.samples().is_multiple_of(STRIDE) {
                    scan.starts.push(start);
                }
                scan.rows.add_sample();
                scan.first.compare(&numbers);
                if options.row_names {
                    scan.rows.set_name(&String::from_utf8_lossy(&records.record[0]));
                }
            }
            Ok(false) if options.missing == MissingRule::Drop => scan.rows.drop_row(),
            _ => return Err(records.invalid_cell(start, scan.rows.next_row(), layout, options.missing)?),
        }
    }
    records.check_closed(last)?;
    scan.rows.check_any(records.path)?;
    Ok(scan)
}

/// Appends the numbers of a row, NaN for missing cells. Returns false if a cell is missing; fails if a cell is infinite or
/// text.
fn append(record: &ByteRecord, layout: &CsvLayout, numbers: &mut Vec<f64>) -> std::result::Result<bool, ()> {
    let mut complete = true;
    for &field in &layout.selected {
        match Cell::of(&record[field]) {
            Cell::Number(number) => numbers.push(number),
            Cell::Missing => {
                complete = false;
                numbers.push(f64::NAN);
            }
            Cell::Infinite | Cell::Text => return Err(()),
        }
    }
    Ok(complete)
}
