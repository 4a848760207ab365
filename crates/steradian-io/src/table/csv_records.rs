//! The records of a text table: separator, start of each record, and errors of invalid cells.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use steradian::{Error, Result};

use crate::system::pread::PositionedReader;
use crate::system::quote::quote;
use crate::table::cell::Cell;
use crate::table::csv_layout::CsvLayout;
use crate::table::table_options::MissingRule;

/// Bytes per read.
pub(crate) const BUFFER: usize = 64 << 10;

/// Largest length of a row in bytes. A longer row is an unclosed quote, which would load the whole file into memory.
const MAX_ROW_BYTES: u64 = 16 << 20;
/// Largest number of fields of a row: each takes memory beside its text.
const MAX_FIELDS: usize = 1 << 20;

/// The separator: the most frequent of comma, semicolon and tab in the first line, outside quotes.
pub(crate) fn separator(head: &[u8]) -> u8 {
    const CANDIDATES: [u8; 3] = *b",;\t";
    let mut counts = [0usize; 3];
    let (mut quoted, mut started) = (false, false);
    for &byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted && started => break,
            _ if quoted => {}
            _ => CANDIDATES.iter().zip(&mut counts).for_each(|(&c, count)| *count += usize::from(c == byte)),
        }
        started |= !byte.is_ascii_whitespace();
    }
    let most = counts.into_iter().max().unwrap_or(0);
    counts.iter().position(|&count| count == most).map_or(b',', |i| CANDIDATES[i])
}

/// Records of a file from a start byte, each with its position.
pub(crate) struct Records<'a> {
    pub(crate) path: &'a Path,
    file: &'a File,
    separator: u8,
    reader: Reader<PositionedReader<&'a File>>,
    /// The record that was read last.
    pub(crate) record: ByteRecord,
    origin: u64,
}

impl<'a> Records<'a> {
    /// Records from byte `origin`, at which a record starts.
    pub(crate) fn new(path: &'a Path, file: &'a File, separator: u8, origin: u64) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .buffer_capacity(BUFFER)
            .from_reader(PositionedReader::new(file, origin));
        Self { path, file, separator, reader, record: ByteRecord::new(), origin }
    }

    /// Skips the header; requires that these records start at the start of the table.
    pub(crate) fn after_header(mut self, layout: &CsvLayout) -> Result<Self> {
        if layout.header {
            self.next()?;
        }
        Ok(self)
    }

    /// The numeric fields: every cell is a number or missing, and at least one is a number. Reads the whole table;
    /// requires that these records start at the start of the table.
    pub(crate) fn numeric_columns(&self, layout: &CsvLayout) -> Result<Vec<usize>> {
        let mut records = Records::new(self.path, self.file, self.separator, self.origin).after_header(layout)?;
        let mut numbers = vec![0usize; layout.width];
        let mut text = vec![false; layout.width];
        while records.next()?.is_some() {
            for (field, cell) in records.record.iter().enumerate().take(layout.width) {
                match Cell::of(cell) {
                    Cell::Number(_) | Cell::Infinite => numbers[field] += 1,
                    Cell::Missing => {}
                    Cell::Text => text[field] = true,
                }
            }
        }
        Ok(layout.data().filter(|&field| numbers[field] > 0 && !text[field]).collect())
    }

    /// Reads the next record and returns its start byte, which may be on a blank line before it.
    pub(crate) fn next(&mut self) -> Result<Option<u64>> {
        let start = self.origin + self.reader.position().byte();
        self.reader.get_mut().limit = start + MAX_ROW_BYTES;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(_) if self.record.len() > MAX_FIELDS => {
                let fields = self.record.len();
                Err(self.corrupt(start, format!("row has {fields} fields, more than the limit of {MAX_FIELDS}"))?)
            }
            Ok(more) => Ok(more.then_some(start)),
            Err(e) => match e.into_kind() {
                ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::FileTooLarge => {
                    Err(self.corrupt(start, format!("row exceeds {MAX_ROW_BYTES} bytes; check for an unclosed quote"))?)
                }
                ErrorKind::Io(e) => Err(Error::io(self.path, e)),
                other => Err(Error::corrupt_file(self.path, format!("{other:?}"))),
            },
        }
    }

    /// The line, from 1, of the record that starts at a byte. Scans the file from its start, so only errors call it.
    fn line(&self, start: u64) -> Result<u64> {
        let mut reader = std::io::BufReader::with_capacity(BUFFER, PositionedReader::new(self.file, 0));
        let mut lines = 1;
        let mut at = 0;
        loop {
            let chunk = std::io::BufRead::fill_buf(&mut reader).map_err(|e| Error::io(self.path, e))?;
            for &byte in chunk {
                // A start may be on blank lines before the record or within a line end of two bytes.
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

    /// The [`Error::CorruptFile`] of the record that starts at a byte.
    pub(crate) fn corrupt(&self, start: u64, what: String) -> Result<Error> {
        Ok(Error::corrupt_file(self.path, format!("line {}: {what}", self.line(start)?)))
    }

    /// The error of the first invalid cell of the current record.
    pub(crate) fn invalid_cell(
        &self,
        start: u64,
        row: usize,
        layout: &CsvLayout,
        missing: MissingRule,
    ) -> Result<Error> {
        let line = self.line(start)?;
        let path = self.path.display();
        for (index, &field) in layout.selected.iter().enumerate() {
            let text = quote(&self.record[field]);
            let place = format!("row {row} (line {line}), column {}", layout.column(index));
            return Ok(match Cell::of(&self.record[field]) {
                Cell::Number(_) => continue,
                Cell::Missing if missing != MissingRule::Error => continue,
                Cell::Missing => Error::MissingCell { path: self.path.to_path_buf(), place, text },
                Cell::Infinite => Error::invalid_data(format!(
                    "{path}: {place} ({text}) is not finite; correct the cell or remove the row"
                )),
                // Another selection of columns does not help here, so this is no `NotNumeric`.
                Cell::Text if self.record[field].contains(&b',') => {
                    Error::invalid_data(format!("{path}: {place} ({text}) is not numeric; write decimals with a point"))
                }
                Cell::Text => {
                    let numeric = self.numeric_columns(layout)?;
                    layout.not_numeric(self.path, format!("{place} ({text})"), &numeric)
                }
            });
        }
        Ok(Error::invalid_data(format!("{path}: row {row} (line {line}) cannot be read")))
    }

    /// Fails if the last record, which starts at a byte, ends inside quotes: it may contain further rows.
    pub(crate) fn check_closed(&self, start: u64) -> Result<()> {
        let mut bytes = Vec::new();
        PositionedReader::new(self.file, start).read_to_end(&mut bytes).map_err(|e| Error::io(self.path, e))?;
        let quotes = bytes.iter().filter(|&&byte| byte == b'"').count();
        if quotes % 2 == 1 && bytes.trim_ascii().contains(&b'\n') {
            return Err(self.corrupt(start, "unclosed quote".to_string())?);
        }
        Ok(())
    }
}
