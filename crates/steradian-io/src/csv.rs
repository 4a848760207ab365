//! A table of numbers as a source: streamed, never whole in memory.
//!
//! Opening reads the file once: it finds the header, checks every number of the columns that are read, counts the rows
//! and notes where every 256th of them starts. A visit then goes to the nearest note and parses only what it needs.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ::csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use steradian::{Block, BlockData, ElementType, Error, Result, Rows, Shape, Source};

use crate::npy::check_rows;
use crate::positioned::{At, changed_length, length, open_regular};
use crate::quote::quote;
use crate::table::{Cell, Layout, Missing, TableOptions};

/// Rows between two notes of where a row starts.
const STRIDE: usize = 256;

/// A row longer than this is taken for a quote that is never closed, which would draw the whole file into memory.
const LONGEST_ROW: u64 = 64 << 20;

const BUFFER: usize = 64 << 10;

/// Numbers in a text file with one row per line and fields apart by comma, semicolon or tab.
#[derive(Debug)]
pub struct CsvSource {
    path: PathBuf,
    file: File,
    bytes: u64,
    separator: u8,
    layout: Layout,
    missing: Missing,
    shape: Shape,
    /// Where kept rows 0, 256, 512, ... start.
    starts: Vec<u64>,
    /// The rows left out, counted from 0 after the header.
    dropped: Vec<usize>,
    row_names: Option<RowNames>,
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

        let mut records = Records::new(path, &file, separator, mark as u64);
        if records.next()?.is_none() {
            return Err(Error::data(format!("{}: the file holds no rows", path.display())));
        }
        let layout = Layout::of(path, &records.record, options)?;
        let shape = Shape { samples: 0, features: layout.selected.len(), element: ElementType::F64, image: None };
        if !layout.header {
            records = Records::new(path, &file, separator, mark as u64);
        }
        let scan = scan(&mut records, &layout, options)?;
        Ok(Self {
            shape: Shape { samples: scan.kept, ..shape },
            starts: scan.starts,
            dropped: scan.dropped,
            row_names: options.row_names.then_some(scan.names),
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
        self.row_names.as_ref()?.get(sample)
    }

    /// The rows left out for a missing cell, counted from 0 after the header, in order.
    pub fn dropped_rows(&self) -> &[usize] {
        &self.dropped
    }

    /// The row of the table, counted from 0 after the header, that a sample is: they differ once rows are left out.
    pub fn table_row(&self, sample: usize) -> usize {
        // Before dropped row number k there are `row - k` kept ones, a count that grows with k.
        let (mut low, mut high) = (0, self.dropped.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.dropped[middle] - middle <= sample { low = middle + 1 } else { high = middle }
        }
        sample + low
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
            Error::broken(&self.path, what)
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

/// Names one after the other in one string, for tables with many rows.
#[derive(Debug, Default)]
struct RowNames {
    text: String,
    ends: Vec<usize>,
}

impl RowNames {
    fn push(&mut self, name: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(name));
        self.ends.push(self.text.len());
    }

    fn get(&self, i: usize) -> Option<&str> {
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some(&self.text[start..end])
    }
}

/// What one reading of the whole table finds.
#[derive(Default)]
struct Scan {
    kept: usize,
    starts: Vec<u64>,
    dropped: Vec<usize>,
    names: RowNames,
}

fn scan(records: &mut Records<'_>, layout: &Layout, options: &TableOptions) -> Result<Scan> {
    let mut found = Scan::default();
    let mut numbers = Vec::new();
    let mut last = 0;
    while let Some(start) = records.next()? {
        let row = found.kept + found.dropped.len();
        last = start;
        let fields = records.record.len();
        if fields != layout.width {
            return Err(records.broken(start, format!("{fields} fields where the first row has {}", layout.width))?);
        }
        numbers.clear();
        let kept = append(&records.record, layout, &mut numbers);
        match kept {
            Ok(true) => {
                if found.kept.is_multiple_of(STRIDE) {
                    found.starts.push(start);
                }
                if options.row_names {
                    found.names.push(&records.record[0]);
                }
                found.kept += 1;
            }
            Ok(false) if options.missing == Missing::Drop => found.dropped.push(row),
            _ => return Err(records.bad_cell(start, row, layout, options.missing)?),
        }
    }
    records.check_closed(last)?;
    let path = records.path.display();
    match (found.kept, found.dropped.len()) {
        (0, 0) => Err(Error::data(format!("{path}: there is a header and no row of data"))),
        (0, rows) => Err(Error::data(format!(
            "{path}: each of the {rows} rows has a missing cell, so none is left; read fewer columns with --columns"
        ))),
        _ => Ok(found),
    }
}

/// Appends a row's numbers; false when a cell is missing, an error when one is not a finite number.
fn append(record: &ByteRecord, layout: &Layout, numbers: &mut Vec<f64>) -> std::result::Result<bool, ()> {
    let mut complete = true;
    for &field in &layout.selected {
        match Cell::of(&record[field]) {
            Cell::Number(number) => numbers.push(number),
            Cell::Missing => complete = false,
            Cell::Infinite | Cell::Text => return Err(()),
        }
    }
    Ok(complete)
}

/// The separator of the first line: the one of comma, semicolon and tab that it has most of, outside quotes.
fn separator(head: &[u8]) -> u8 {
    const CANDIDATES: [u8; 3] = *b",;\t";
    let mut counts = [0usize; 3];
    let (mut quoted, mut begun) = (false, false);
    for &byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted && begun => break,
            _ if quoted => {}
            _ => CANDIDATES.iter().zip(&mut counts).for_each(|(&c, count)| *count += usize::from(c == byte)),
        }
        begun |= !byte.is_ascii_whitespace();
    }
    let most = counts.into_iter().max().unwrap_or(0);
    counts.iter().position(|&count| count == most).map_or(b',', |i| CANDIDATES[i])
}

/// The records of a file from some byte on, each with where it starts.
struct Records<'a> {
    path: &'a Path,
    file: &'a File,
    reader: Reader<At<'a>>,
    record: ByteRecord,
    origin: u64,
}

impl<'a> Records<'a> {
    fn new(path: &'a Path, file: &'a File, separator: u8, origin: u64) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .buffer_capacity(BUFFER)
            .from_reader(At::new(file, origin));
        Self { path, file, reader, record: ByteRecord::new(), origin }
    }

    /// Reads the next record; returns the byte where it starts, which may lie on blank lines before it.
    fn next(&mut self) -> Result<Option<u64>> {
        let start = self.origin + self.reader.position().byte();
        self.reader.get_mut().limit = start + LONGEST_ROW;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(more) => Ok(more.then_some(start)),
            Err(e) => match e.into_kind() {
                ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::FileTooLarge => {
                    Err(self.broken(start, format!("a row of over {LONGEST_ROW} bytes; is a quote left open?"))?)
                }
                ErrorKind::Io(e) => Err(Error::io(self.path, e)),
                other => Err(Error::broken(self.path, format!("{other:?}"))),
            },
        }
    }

    /// The line, from 1, of the record that starts at a byte. It counts from the file's start, so only errors ask.
    fn line(&self, start: u64) -> Result<u64> {
        let mut reader = std::io::BufReader::with_capacity(BUFFER, At::new(self.file, 0));
        let mut lines = 1;
        let mut at = 0;
        loop {
            let chunk = std::io::BufRead::fill_buf(&mut reader).map_err(|e| Error::io(self.path, e))?;
            for &byte in chunk {
                // Blank lines before the record, and the end of a line of two bytes, belong to its start.
                if at >= start && !matches!(byte, b'\n' | b'\r') {
                    return Ok(lines);
                }
                lines += u64::from(byte == b'\n');
                at += 1;
            }
            let used = chunk.len();
            if used == 0 {
                return Ok(lines);
            }
            std::io::BufRead::consume(&mut reader, used);
        }
    }

    fn broken(&self, start: u64, what: String) -> Result<Error> {
        Ok(Error::broken(self.path, format!("line {}: {what}", self.line(start)?)))
    }

    /// The error of the first cell of the current record that cannot be read.
    fn bad_cell(&self, start: u64, row: usize, layout: &Layout, missing: Missing) -> Result<Error> {
        let line = self.line(start)?;
        for (place, &field) in layout.selected.iter().enumerate() {
            let text = quote(&self.record[field]);
            let what = match Cell::of(&self.record[field]) {
                Cell::Number(_) => continue,
                Cell::Missing if missing == Missing::Drop => continue,
                Cell::Missing => {
                    format!("is missing ({text}); leave such rows out with --missing drop, or fill it in")
                }
                Cell::Infinite => format!("is {text}, which is not finite; correct it or leave the row out"),
                Cell::Text if self.record[field].contains(&b',') => {
                    format!("is {text}, not a number; write decimals with a point")
                }
                Cell::Text => format!(
                    "is {text}, not a number; choose columns of numbers with --columns, and --row-names if the first \
                     column holds names"
                ),
            };
            let (path, column) = (self.path.display(), layout.column(place));
            return Ok(Error::data(format!("{path}: row {row} (line {line}), column {column} {what}")));
        }
        Ok(Error::data(format!("{}: row {row} (line {line}) cannot be read", self.path.display())))
    }

    /// Fails when the last record ends inside quotes, which would have swallowed rows unseen.
    fn check_closed(&self, start: u64) -> Result<()> {
        let mut bytes = Vec::new();
        At::new(self.file, start).read_to_end(&mut bytes).map_err(|e| Error::io(self.path, e))?;
        let quotes = bytes.iter().filter(|&&byte| byte == b'"').count();
        if quotes % 2 == 1 && bytes.trim_ascii().contains(&b'\n') {
            return Err(self.broken(start, "a quote is opened and never closed".to_string())?);
        }
        Ok(())
    }
}
