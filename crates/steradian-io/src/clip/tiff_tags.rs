//! The check of the tags of a TIFF file, before a decoder allocates memory for them: none has more values than the file has
//! bytes.
//!
//! The decoder reads the tags with limits of its own, 256 MiB each, before it accepts others.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use steradian::{Error, Result};

use crate::system::pread::PositionedReader;

/// Largest number of tags; the format has about a hundred.
const MAX_TAGS: u64 = 4096;

/// Byte order and sizes of the two versions of the format.
struct TagLayout {
    big_endian: bool,
    /// True for BigTIFF, with offsets and counts of 8 bytes.
    big: bool,
}

impl TagLayout {
    /// The layout of a TIFF file by its first bytes; `None` for other files.
    fn of(head: &[u8]) -> Option<Self> {
        match head.get(..4)? {
            b"II*\0" => Some(Self { big_endian: false, big: false }),
            b"MM\0*" => Some(Self { big_endian: true, big: false }),
            b"II+\0" => Some(Self { big_endian: false, big: true }),
            b"MM\0+" => Some(Self { big_endian: true, big: true }),
            _ => None,
        }
    }

    /// An unsigned integer of any size.
    fn number(&self, bytes: &[u8]) -> u64 {
        let digit = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, digit) } else { bytes.iter().rev().fold(0, digit) }
    }
}

/// Bytes of a value of this type; 1 for unknown types.
fn value_bytes(kind: u64) -> u64 {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16..=18 => 8,
        _ => 1,
    }
}

/// Fails for a TIFF file of `bytes` bytes with a tag whose values are not all in the file. Other files pass.
pub(crate) fn check_tags(path: &Path, file: &File, bytes: u64) -> Result<()> {
    let read = |at: u64, count: u64| -> Option<Vec<u8>> {
        at.checked_add(count).filter(|end| *end <= bytes)?;
        let mut piece = Vec::new();
        PositionedReader::new(file, at).take(count).read_to_end(&mut piece).ok()?;
        (piece.len() as u64 == count).then_some(piece)
    };
    let Some(layout) = read(0, 16.min(bytes)).and_then(|head| TagLayout::of(&head)) else { return Ok(()) };
    let corrupt = |what: String| Error::corrupt_file(path, format!("the TIFF image is invalid: {what}; copy it again"));
    let truncated = || corrupt("its list of tags is not in the file".to_owned());
    // Sizes of an offset, of the number of tags and of a tag.
    let (offset, count, tag) = if layout.big { (8, 8, 20) } else { (4, 2, 12) };
    let start = layout.number(&read(offset, offset).ok_or_else(truncated)?);
    let tags = layout.number(&read(start, count).ok_or_else(truncated)?);
    if tags > MAX_TAGS {
        return Err(corrupt(format!("it has {tags} tags, more than {MAX_TAGS}")));
    }
    let list = read(start + count, tags * tag).ok_or_else(truncated)?;
    for entry in list.chunks_exact(tag as usize) {
        let (name, kind) = (layout.number(&entry[..2]), layout.number(&entry[2..4]));
        let values = layout.number(&entry[4..4 + offset as usize]);
        let size = values.saturating_mul(value_bytes(kind));
        if size > bytes {
            return Err(corrupt(format!("tag {name} has {values} values, but the file has {bytes} bytes")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A file with one tag that has this many values of four bytes.
    fn file(magic: &[u8; 4], values: u64) -> Vec<u8> {
        let big_endian = magic[0] == b'M';
        let number = |x: u64, size: usize| {
            let bytes = x.to_le_bytes()[..size].to_vec();
            if big_endian { bytes.into_iter().rev().collect() } else { bytes }
        };
        let (head, count, size) = match magic.contains(&b'+') {
            true => ([number(8, 2), number(0, 2), number(16, 8)].concat(), 8, 8),
            false => (number(8, 4), 2, 4),
        };
        [magic.to_vec(), head, number(1, count), number(273, 2), number(4, 2), number(values, size), vec![0; 20]]
            .concat()
    }

    #[test]
    fn tags_with_more_values_than_bytes_are_rejected() {
        let check = |bytes: &[u8]| {
            let mut stored = tempfile::NamedTempFile::new().unwrap();
            stored.write_all(bytes).unwrap();
            check_tags(stored.path(), stored.as_file(), bytes.len() as u64)
        };
        for magic in [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"] {
            check(&file(magic, 1)).unwrap();
            let error = check(&file(magic, 1 << 24)).unwrap_err().to_string();
            assert!(error.contains("tag 273 has 16777216 values"), "{error}");
            assert!(check(&file(magic, 1)[..12]).is_err());
        }
        check(b"no TIFF file").unwrap();
        check(b"").unwrap();
    }
}
