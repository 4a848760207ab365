//! The schema in the footer of a parquet file, checked before it is parsed: a column of the list has at most as many children
//! as columns follow it, and groups are nested a few levels deep.
//!
//! The parquet crate allocates the declared number of children, and parses groups within groups by recursion.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use steradian::{Error, Result};

use crate::system::pread::PositionedReader;
use crate::table::parquet_pages::Thrift;

/// Largest number of groups within each other.
const MAX_GROUPS: usize = 64;
/// The field of the schema in the footer, and that of the number of children in an entry of the schema.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Fails if the schema of a file of `bytes` bytes is invalid. A file without a footer passes: its reader says so.
pub(crate) fn check_schema(path: &Path, file: &File, bytes: u64) -> Result<()> {
    let read = |at: u64, count: u64| -> std::io::Result<Vec<u8>> {
        let mut piece = Vec::new();
        PositionedReader::new(file, at).take(count).read_to_end(&mut piece)?;
        Ok(piece)
    };
    let io = |e| Error::io(path, e);
    let Some(end) = bytes.checked_sub(8) else { return Ok(()) };
    let tail = read(end, 8).map_err(io)?;
    let Some((length, b"PAR1")) = tail.split_first_chunk::<4>() else { return Ok(()) };
    let length = u64::from(u32::from_le_bytes(*length));
    let Some(start) = end.checked_sub(length) else { return Ok(()) };
    let footer = read(start, length).map_err(io)?;
    let invalid = |what: &str| Error::corrupt_file(path, format!("the schema is invalid: {what}; copy the file again"));
    let children = children(&footer).ok_or_else(|| invalid("it cannot be parsed"))?;
    check_children(&children).map_err(|what| invalid(&what))
}

/// The number of children of each entry of the schema. The parquet crate reads a field by its number, whatever type it
/// has; so other types than those of the format are invalid here, or else this would read other bytes as the schema.
fn children(footer: &[u8]) -> Option<Vec<i64>> {
    let (mut thrift, mut id) = (Thrift { bytes: footer, at: 0 }, 0);
    loop {
        let kind;
        (id, kind) = field(&mut thrift, id)??;
        match (id, kind) {
            (SCHEMA, LIST) => break,
            // The version and the number of rows.
            (1, INT) | (3, LONG) => drop(thrift.integer()?),
            _ => return None,
        }
    }
    // The type of the entries, and their number if it is below 15.
    let head = thrift.byte()?;
    let count = if head >> 4 == 15 { thrift.varint()? } else { u64::from(head >> 4) };
    if head & 0x0f != STRUCTURE {
        return None;
    }
    // Each entry takes bytes, so that a wrong number ends at the end of the footer.
    let mut children = Vec::new();
    for _ in 0..count {
        children.push(entry(&mut thrift)?);
    }
    Some(children)
}

/// Types of the compact protocol; a truth value is its type.
const TRUTH: std::ops::RangeInclusive<u8> = 1..=2;
const BYTE: u8 = 3;
const INT: u8 = 5;
const LONG: u8 = 6;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCTURE: u8 = 12;

/// Number and type of the next field after the field `last`; `Some(None)` at the end of the structure.
fn field(thrift: &mut Thrift<'_>, last: i64) -> Option<Option<(i64, u8)>> {
    let head = thrift.byte()?;
    if head & 0x0f == 0 {
        return Some(None);
    }
    let id = if head >> 4 == 0 { thrift.integer()? } else { last + i64::from(head >> 4) };
    (1..1 << 10).contains(&id).then_some(Some((id, head & 0x0f)))
}

/// The number of children of the next entry.
fn entry(thrift: &mut Thrift<'_>) -> Option<i64> {
    let (mut id, mut children) = (0, None);
    loop {
        let kind;
        (id, kind) = match field(thrift, id)? {
            Some(next) => next,
            None => return Some(children.unwrap_or(0)),
        };
        match (id, kind) {
            (CHILDREN, INT) if children.is_none() => children = Some(thrift.integer()?),
            (1..=3 | 6..=9, INT) => drop(thrift.integer()?),
            (4, TEXT) => drop(thrift.value(kind, 0)?),
            (10, STRUCTURE) => logical_type(thrift)?,
            _ => return None,
        }
    }
}

/// Reads a logical type: a structure of one field, whose number is the type and whose value is a structure.
fn logical_type(thrift: &mut Thrift<'_>) -> Option<()> {
    let (name, kind) = field(thrift, 0)??;
    if kind != STRUCTURE {
        return None;
    }
    let mut id = 0;
    loop {
        let kind;
        (id, kind) = match field(thrift, id)? {
            Some(next) => next,
            None => break,
        };
        match (name, id) {
            // Decimals: scale and precision. Times: whether in UTC, and the unit. Integers: bits, and whether signed.
            (5, 1 | 2) if kind != INT => return None,
            (7 | 8, 1) | (10, 2) if !TRUTH.contains(&kind) => return None,
            (7 | 8, 2) if kind != STRUCTURE => return None,
            (10 | 16, 1) if kind != BYTE => return None,
            (17 | 18, 1) if kind != TEXT => return None,
            (18, 2) if kind != INT => return None,
            _ => {}
        }
        if !TRUTH.contains(&kind) {
            thrift.value(kind, 0)?;
        }
    }
    field(thrift, 0)?.is_none().then_some(())
}

/// Checks the tree that the numbers of children of its entries, in depth-first order, define.
fn check_children(children: &[i64]) -> std::result::Result<(), String> {
    // Children that each open group still lacks.
    let mut open: Vec<usize> = Vec::new();
    for (place, &count) in children.iter().enumerate() {
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        let following = children.len() - 1 - place;
        let count = usize::try_from(count).ok().filter(|count| *count <= following);
        let count =
            count.ok_or_else(|| format!("entry {place} has {} children, but {following} follow", children[place]))?;
        if count > 0 {
            open.push(count);
        }
        if open.len() > MAX_GROUPS {
            return Err(format!("groups are nested more than {MAX_GROUPS} levels deep"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_entries_are_counted() {
        check_children(&[]).unwrap();
        check_children(&[3, 0, 2, 0, 0, 0]).unwrap();
        assert!(check_children(&[2, 0]).unwrap_err().contains("entry 0 has 2 children, but 1 follow"));
        assert!(check_children(&[1 << 30, 0]).is_err());
        assert!(check_children(&[-1, 0]).is_err());
        let chain: Vec<i64> = (0..100_000).map(|i| i64::from(i < 99_999)).collect();
        assert!(check_children(&chain).unwrap_err().contains("nested"));
    }

    #[test]
    fn numbers_of_children_are_read_from_a_footer() {
        // Version 1; a schema of two entries, the first with one child.
        let footer = [0x15, 2, 0x19, 0x2c, 0x48, 1, b'a', 0x15, 2, 0, 0x48, 1, b'b', 0, 0];
        assert_eq!(children(&footer), Some(vec![1, 0]));
        // No schema; a schema that is no list; an entry with two numbers of children.
        assert_eq!(children(&[0x15, 2, 0]), None);
        assert_eq!(children(&[0x15, 2, 0x1a, 0x1c, 0, 0]), None);
        assert_eq!(children(&[0x19, 0x1c, 0x55, 2, 5, 10, 2, 0, 0]), None);
        // A schema of 2^35 entries, and one that is cut off.
        assert_eq!(children(&[0x19, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0]), None);
        assert_eq!(children(&footer[..9]), None);
    }
}
