//! Pages of a parquet column, checked before they are decoded: sizes, counts and compressed data that would take more
//! memory than the file justifies.
//!
//! The parquet crate allocates what a page header declares. Opening a table reads the header of every page of the selected
//! columns first: a few bytes each, in the compact protocol of Thrift. Counts within a page, which are known only after
//! decompression, are checked when it is read.

use std::fs::File;
use std::io::Read;

use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use steradian::error::format_bytes;

use crate::system::pread::PositionedReader;

/// Size of a decompressed page that is always accepted, in bytes. Usual pages have 1 MiB.
const MAX_PAGE_BYTES: u64 = 64 << 20;
/// Largest ratio of the decompressed to the stored size of a larger page.
const MAX_PAGE_RATIO: u64 = 8;
/// Number of bytes that are read for the header of a page at first; headers have about 50, more with statistics.
const HEADER_BYTES: u64 = 1 << 10;
/// Largest header of a page in bytes.
const MAX_HEADER_BYTES: u64 = 4 << 20;
/// Largest number of fields of a structure, and largest depth of structures.
const MAX_FIELDS: usize = 64;
const MAX_DEPTH: usize = 8;

/// First bytes of an LZ4 frame.
const LZ4_FRAME: &[u8] = b"\x04\x22\x4d\x18";

/// The fields of a page header that matter here.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PageHeader {
    /// Number of bytes of the header.
    length: u64,
    /// True for a dictionary page.
    is_dictionary: bool,
    /// Size after decompression in bytes.
    decompressed: u64,
    /// Size in the file in bytes.
    stored: u64,
    /// Number of values, nulls included.
    values: u64,
    /// Number of bytes at the start that are not compressed: the levels of a page of the second version.
    levels: u64,
}

/// Checks every page of a column of a row group; returns the size of its largest page after decompression.
pub(crate) fn check_pages(file: &File, column: &ColumnChunkMetaData) -> Result<u64> {
    let (mut at, length) = column.byte_range();
    let end = at.saturating_add(length);
    let expected = u64::try_from(column.num_values()).map_err(|_| general("a negative number of values"))?;
    let (mut values, mut largest) = (0u64, 0);
    while values < expected && at < end {
        let header = read_header(file, at, end)?;
        at += header.length;
        if header.stored > end - at {
            return Err(general("a page exceeds its column"));
        }
        check_page(file, at, &header, column)?;
        largest = largest.max(header.decompressed);
        at += header.stored;
        values = values.saturating_add(if header.is_dictionary { 0 } else { header.values });
    }
    Ok(largest)
}

fn check_page(file: &File, at: u64, header: &PageHeader, column: &ColumnChunkMetaData) -> Result<()> {
    let (stored, decompressed) = (header.stored, header.decompressed);
    if decompressed > MAX_PAGE_BYTES.max(stored.saturating_mul(MAX_PAGE_RATIO)) {
        return Err(general(format!(
            "a page of {} declares {}, more than the limit of {}",
            format_bytes(stored),
            format_bytes(decompressed),
            format_bytes(MAX_PAGE_BYTES)
        )));
    }
    // The smallest number of bytes of a value of a dictionary, which is not packed.
    let value_bytes = match column.column_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.column_descr().type_length()).unwrap_or(0),
    };
    if header.is_dictionary && header.values.saturating_mul(value_bytes.max(1)) > decompressed {
        let (values, bytes) = (header.values, format_bytes(decompressed));
        return Err(general(format!("a dictionary of {bytes} declares {values} values")));
    }
    match column.compression() {
        Compression::UNCOMPRESSED if stored != decompressed => Err(general("a page has two sizes")),
        // These decoders have no limit of their own.
        Compression::GZIP(_) => check_gzip(file, at, header),
        Compression::LZ4 => check_lz4(file, at, header),
        _ => Ok(()),
    }
}

/// Fails if compressed data have more bytes than the page header declares. Inflates only pages that could exceed the limit.
fn check_gzip(file: &File, at: u64, header: &PageHeader) -> Result<()> {
    // The largest ratio of deflate is 1032.
    let stored = header.stored.saturating_sub(header.levels);
    if stored.saturating_mul(1032) <= MAX_PAGE_BYTES {
        return Ok(());
    }
    let compressed = PositionedReader::new(file, at.saturating_add(header.levels)).take(stored);
    let inflated = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(compressed));
    // Errors of the data are reported by the decoder.
    match std::io::copy(&mut inflated.take(header.decompressed + 1), &mut std::io::sink()) {
        Ok(bytes) if bytes > header.decompressed => {
            let declared = format_bytes(header.decompressed);
            Err(general(format!("a page declares {declared} and decompresses to more")))
        }
        _ => Ok(()),
    }
}

/// Fails for LZ4 frames, which former writers stored, if they may decompress to more than a page may have.
fn check_lz4(file: &File, at: u64, header: &PageHeader) -> Result<()> {
    let mut magic = Vec::new();
    PositionedReader::new(file, at).take(header.stored.min(4)).read_to_end(&mut magic)?;
    // The largest ratio of LZ4 is 255.
    match magic == LZ4_FRAME && header.stored.saturating_mul(255) > MAX_PAGE_BYTES {
        true => Err(general(format!("an LZ4 frame of {} has no size", format_bytes(header.stored)))),
        false => Ok(()),
    }
}

fn general(what: impl Into<String>) -> ParquetError {
    ParquetError::General(what.into())
}

/// Reads the header of the page at a byte of a column that ends at another.
fn read_header(file: &File, at: u64, end: u64) -> Result<PageHeader> {
    let mut size = HEADER_BYTES;
    loop {
        let mut bytes = Vec::new();
        PositionedReader::new(file, at).take(size.min(end - at)).read_to_end(&mut bytes)?;
        if let Some(header) = parse_header(&bytes) {
            return Ok(header);
        }
        // Statistics may be long.
        if size >= MAX_HEADER_BYTES || (bytes.len() as u64) < size {
            return Err(general("a page header is invalid"));
        }
        size *= 16;
    }
}

/// The header at the start of bytes; `None` if it is invalid, or longer.
fn parse_header(bytes: &[u8]) -> Option<PageHeader> {
    const DATA: i64 = 5;
    const DICTIONARY: i64 = 7;
    const DATA_V2: i64 = 8;
    let mut thrift = Thrift { bytes, at: 0 };
    let fields = thrift.structure(0)?;
    let size = |wanted: i64| {
        fields.iter().find_map(|(id, value)| match value {
            Value::Integer(number) if *id == wanted => u64::try_from(*number).ok(),
            _ => None,
        })
    };
    let nested = |wanted: i64, field: i64| {
        fields.iter().find_map(|(id, value)| match value {
            Value::Structure(fields) if *id == wanted => {
                fields.iter().find(|(id, _)| *id == field).and_then(|(_, number)| u64::try_from(*number).ok())
            }
            _ => None,
        })
    };
    let dictionary = nested(DICTIONARY, 1);
    Some(PageHeader {
        length: thrift.at as u64,
        is_dictionary: dictionary.is_some(),
        decompressed: size(2)?,
        stored: size(3)?,
        values: dictionary.or_else(|| nested(DATA, 1)).or_else(|| nested(DATA_V2, 1)).unwrap_or(0),
        levels: nested(DATA_V2, 5).unwrap_or(0).saturating_add(nested(DATA_V2, 6).unwrap_or(0)),
    })
}

/// A reader of the compact protocol of Thrift.
pub(crate) struct Thrift<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

/// A field of a structure.
pub(crate) enum Value {
    Integer(i64),
    /// The integers of a structure.
    Structure(Vec<(i64, i64)>),
    Other,
}

impl Thrift<'_> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        self.at = (end <= self.bytes.len()).then_some(end)?;
        Some(())
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn integer(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn structure(&mut self, depth: usize) -> Option<Vec<(i64, Value)>> {
        let (mut fields, mut id) = (Vec::new(), 0);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(fields);
            }
            if fields.len() == MAX_FIELDS || depth == MAX_DEPTH {
                return None;
            }
            // The difference to the last number of a field, or that number itself after the byte.
            id = if head >> 4 == 0 { self.integer()? } else { id.wrapping_add(i64::from(head >> 4)) };
            let value = match head & 0x0f {
                1 | 2 => Value::Other,
                kind => self.value(kind, depth)?,
            };
            fields.push((id, value));
        }
    }

    /// The value of a type, except truth values of fields, which are in the type.
    pub(crate) fn value(&mut self, kind: u8, depth: usize) -> Option<Value> {
        match kind {
            1..=3 => self.skip(1)?,
            4..=6 => return self.integer().map(Value::Integer),
            7 => self.skip(8)?,
            8 => {
                let length = self.varint()?;
                self.skip(length)?;
            }
            9 | 10 => self.list(depth)?,
            12 => {
                let fields = self.structure(depth + 1)?;
                let integers = fields.into_iter().filter_map(|(id, value)| match value {
                    Value::Integer(number) => Some((id, number)),
                    _ => None,
                });
                return Some(Value::Structure(integers.collect()));
            }
            // Maps do not occur in page headers.
            _ => return None,
        }
        Some(Value::Other)
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        if depth == MAX_DEPTH {
            return None;
        }
        for _ in 0..count {
            self.value(head & 0x0f, depth + 1)?;
        }
        Some(())
    }
}

/// Pages of a column whose counts are compared with their sizes before the decoders of values allocate.
pub(crate) struct CheckedPages {
    pages: Box<dyn PageReader>,
    /// True if the values of the column may be null, so that pages have definition levels.
    has_levels: bool,
}

impl CheckedPages {
    /// The pages of a flat column.
    pub(crate) fn new(pages: Box<dyn PageReader>, has_levels: bool) -> Self {
        Self { pages, has_levels }
    }

    fn checked(&self, page: Page) -> Result<Page> {
        let (bytes, skipped) = match &page {
            Page::DataPage { buf, .. } if self.has_levels => {
                let length = buf.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
                (buf, length.saturating_add(4))
            }
            Page::DataPage { buf, .. } => (buf, 0),
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                (buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)
            }
            Page::DictionaryPage { .. } => return Ok(page),
        };
        let values = bytes.get(skipped..).unwrap_or_default();
        let (lists, most) = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => (1, page.num_values()),
            // Lengths of prefixes, then of the rest of each value.
            Encoding::DELTA_BYTE_ARRAY => (2, page.num_values()),
            _ => return Ok(page),
        };
        match are_lengths_within(values, lists, u64::from(most)) {
            true => Ok(page),
            false => Err(general(format!("a page of {most} values declares other numbers of lengths"))),
        }
    }
}

/// True if this many successive lists of lengths, packed as deltas, have at most `most` entries each.
fn are_lengths_within(bytes: &[u8], lists: usize, most: u64) -> bool {
    let mut packed = Thrift { bytes, at: 0 };
    (0..lists).all(|list| {
        let Some(count) = delta_count(&mut packed, most) else { return false };
        count <= most && (list + 1 == lists || skip_deltas(&mut packed, count).is_some())
    })
}

/// Number of entries of a list of deltas; leaves the reader at the start of the list.
fn delta_count(packed: &mut Thrift<'_>, most: u64) -> Option<u64> {
    let start = packed.at;
    let (_, _) = (packed.varint()?, packed.varint()?);
    let count = packed.varint()?;
    packed.at = start;
    (count <= most).then_some(count)
}

/// Moves the reader behind a list of deltas.
fn skip_deltas(packed: &mut Thrift<'_>, count: u64) -> Option<()> {
    let (block, parts, _, _) = (packed.varint()?, packed.varint()?, packed.varint()?, packed.varint()?);
    let part = block.checked_div(parts).filter(|part| *part > 0)?;
    let mut rest = count.saturating_sub(1);
    while rest > 0 {
        // The smallest delta, then the number of bits of each part.
        packed.varint()?;
        let widths = packed.at;
        packed.skip(parts)?;
        for index in 0..usize::try_from(parts).ok()? {
            if rest == 0 {
                break;
            }
            let bits = u64::from(*packed.bytes.get(widths + index)?);
            packed.skip(bits.checked_mul(part)? / 8)?;
            rest = rest.saturating_sub(part);
        }
    }
    Some(())
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.pages.get_next_page()?.map(|page| self.checked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.pages.take_deferred_dictionary()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_and_invalid_ones_are_none() {
        // Type 0, 300 bytes, 200 stored, and a data page header of 25 values with encoding 0 and a binary field.
        let header = [0x15, 0, 0x15, 0xd8, 4, 0x15, 0x90, 3, 0x2c, 0x15, 50, 0x15, 0, 0x28, 2, b'a', b'b', 0, 0];
        let parsed = parse_header(&header).unwrap();
        assert_eq!((parsed.decompressed, parsed.stored, parsed.values, parsed.is_dictionary), (300, 200, 25, false));
        assert_eq!(parsed.length, header.len() as u64);
        for end in 0..header.len() {
            assert_eq!(parse_header(&header[..end]), None, "{end} bytes");
        }
        // A binary field of 2^60 bytes, a list of 2^60 entries, structures without an end.
        assert_eq!(parse_header(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0]), None);
        assert_eq!(parse_header(&[0x19, 0xf5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0]), None);
        assert_eq!(parse_header(&[0x1c; 100]), None);
    }

    #[test]
    fn lists_of_lengths_are_counted() {
        // Blocks of 128 in 4 parts; 3 lengths, the first 5; deltas from 0 with no bits.
        let list = [0x80, 1, 4, 3, 10, 0, 0, 0, 0, 0];
        assert!(are_lengths_within(&list, 1, 3) && !are_lengths_within(&list, 1, 2));
        let two = [list, list].concat();
        assert!(are_lengths_within(&two, 2, 3) && !are_lengths_within(&two, 2, 2) && !are_lengths_within(&list, 2, 3));
        let huge = [0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 10];
        assert!(!are_lengths_within(&huge, 1, 1 << 31));
    }
}
