//! The records of a text table: their separator, where each starts, and the messages about a bad one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use steradian::{Error, Result};

use crate::system::pread::At;
use crate::system::quote::quote;
use crate::table::cell::Cell;
use crate::table::csv_layout::CsvLayout;
use crate::table::table_options::Missing;

/// Bytes read at a time.
pub(crate) const BUFFER: usize = 64 << 10;

/// A row longer than this is taken for a quote that is never closed, which would draw the whole file into memory.
const LONGEST_ROW: u64 = 64 << 20;

/// The separator of the first line: the one of comma, semicolon and tab that it has most of, outside quotes.
pub(crate) fn separator(head: &[u8]) -> u8 {
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
pub(crate) struct Records<'a> {
    pub(crate) path: &'a Path,
    file: &'a File,
    separator: u8,
    reader: Reader<At<&'a File>>,
    /// The one that was read last.
    pub(crate) record: ByteRecord,
    origin: u64,
}

impl<'a> Records<'a> {
    /// From a byte on, where a record starts.
    pub(crate) fn new(path: &'a Path, file: &'a File, separator: u8, origin: u64) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .buffer_capacity(BUFFER)
            .from_reader(At::new(file, origin));
        Self { path, file, separator, reader, record: ByteRecord::new(), origin }
    }

    /// From the first row of data on; these records begin at the start of the table.
    pub(crate) fn after_header(mut self, layout: &CsvLayout) -> Result<Self> {
        if layout.header {
            self.next()?;
        }
        Ok(self)
    }

    /// The fields in which every cell is a number or missing, and at least one is a number. Reads the whole table
    /// from where these records begin, which is its start.
    pub(crate) fn number_columns(&self, layout: &CsvLayout) -> Result<Vec<usize>> {
        let mut records = Records::new(self.path, self.file, self.separator, self.origin).after_header(layout)?;
        let mut numbers = vec![0usize; layout.width];
        let mut text = vec![false; layout.width];
        while records.next()?.is_some() {
            for (field, cell) in records.record.iter().enumerate().take(layout.width) {
                match Cell::of(cell) {
                    Cell::NumericEncoding(_) | Cell::Infinite => numbers[field] += 1,
                    Cell::Missing => {}
                    Cell::Text => text[field] = true,
                }
            }
        }
        Ok(layout.data().filter(|&field| numbers[field] > 0 && !text[field]).collect())
    }

    /// Reads the next record; returns the byte where it starts, which may lie on blank lines before it.
    pub(crate) fn next(&mut self) -> Result<Option<u64>> {
        let start = self.origin + self.reader.position().byte();
        self.reader.get_mut().limit = start + LONGEST_ROW;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(more) => Ok(more.then_some(start)),
            Err(e) => match e.into_kind() {
                ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::FileTooLarge => {
                    Err(self.broken(start, format!("a row of over {LONGEST_ROW} bytes; is a quote left open?"))?)
                }
                ErrorKind::Io(e) => Err(Error::io(self.path, e)),
                other => Err(Error::corrupt_file(self.path, format!("{other:?}"))),
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

    /// The error of a table that breaks at a record.
    pub(crate) fn broken(&self, start: u64, what: String) -> Result<Error> {
        Ok(Error::corrupt_file(self.path, format!("line {}: {what}", self.line(start)?)))
    }

    /// The error of the first cell of the current record that cannot be read.
    pub(crate) fn bad_cell(&self, start: u64, row: usize, layout: &CsvLayout, missing: Missing) -> Result<Error> {
        let line = self.line(start)?;
        for (place, &field) in layout.selected.iter().enumerate() {
            let text = quote(&self.record[field]);
            let what = match Cell::of(&self.record[field]) {
                Cell::NumericEncoding(_) => continue,
                Cell::Missing if missing == Missing::Drop => continue,
                Cell::Missing => {
                    format!("is missing ({text}); leave such rows out with --missing drop, or fill it in")
                }
                Cell::Infinite => format!("is {text}, which is not finite; correct it or leave the row out"),
                Cell::Text if self.record[field].contains(&b',') => {
                    format!("is {text}, not a number; write decimals with a point")
                }
                Cell::Text => {
                    let remedy = layout.number_remedy(&self.number_columns(layout)?);
                    format!("is {text}, not a number; {remedy}")
                }
            };
            let (path, column) = (self.path.display(), layout.column(place));
            return Ok(Error::invalid_data(format!("{path}: row {row} (line {line}), column {column} {what}")));
        }
        Ok(Error::invalid_data(format!("{}: row {row} (line {line}) cannot be read", self.path.display())))
    }

    /// Fails when the last record ends inside quotes, which would have swallowed rows unseen.
    pub(crate) fn check_closed(&self, start: u64) -> Result<()> {
        let mut bytes = Vec::new();
        At::new(self.file, start).read_to_end(&mut bytes).map_err(|e| Error::io(self.path, e))?;
        let quotes = bytes.iter().filter(|&&byte| byte == b'"').count();
        if quotes % 2 == 1 && bytes.trim_ascii().contains(&b'\n') {
            return Err(self.broken(start, "a quote is opened and never closed".to_string())?);
        }
        Ok(())
    }
}
