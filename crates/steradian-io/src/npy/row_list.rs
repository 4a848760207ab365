//! A list of rows in a `.npy` file: one bool per row, or indices.

use std::io::Read;
use std::path::Path;

use steradian::memory;
use steradian::{Error, Result};

use crate::npy::npy_header::{NpyHeader, NumberKind};
use crate::system::pread::{PositionedReader, open_regular};

/// The rows that a file marks, of data with this many rows: true for a row in the list. `parameter` is the parameter that
/// names the file.
///
/// # Errors
/// For an array of another shape or dtype, for indices out of range or that occur twice, and if the file cannot be read.
pub(crate) fn read_row_list(path: &Path, rows: usize, parameter: &'static str) -> Result<Vec<bool>> {
    let (file, bytes) = open_regular(path)?;
    let header = NpyHeader::read_marks(path, &file, bytes)?;
    let reject = |problem: String| Err(Error::invalid_parameter(parameter, format!("{}: {problem}", path.display())));
    let &[count] = &header.dimensions[..] else {
        let shape = header.shape_text();
        return reject(format!("shape {shape}; expected a vector of {rows} bools, or of row indices"));
    };
    if header.kind == NumberKind::Bool && count != rows {
        return reject(format!("{count} bools for data with {rows} rows; give one per row, or the indices of rows"));
    }
    if count > rows {
        return reject(format!("{count} indices for data with {rows} rows; give each row once at most"));
    }
    if header.kind == NumberKind::Data && header.element.is_float() {
        return reject(format!("dtype {}; expected bool or integers", header.element.name()));
    }
    let size = header.element.bytes();
    let mut data = memory::reserved(header.bytes);
    let mut part = PositionedReader::new(&file, header.start as u64).take(header.bytes as u64);
    part.read_to_end(&mut data).map_err(|e| Error::io(path, e))?;
    if data.len() != header.bytes {
        let problem = format!("expected {} bytes of elements, got {}; copy the file again", header.bytes, data.len());
        return Err(Error::corrupt_file(path, problem));
    }
    if header.kind == NumberKind::Bool {
        return Ok(data.into_iter().map(|byte| byte != 0).collect());
    }
    let signed = header.kind == NumberKind::Integer(true);
    let mut marked = memory::filled(rows, false);
    for bytes in data.chunks_exact(size) {
        let index = integer(bytes, header.big_endian, signed);
        match usize::try_from(index).ok().filter(|row| *row < rows) {
            None => return reject(format!("index {index} is not a row of data with {rows} rows; rows count from 0")),
            Some(row) if marked[row] => return reject(format!("row {row} is listed twice; list each row once")),
            Some(row) => marked[row] = true,
        }
    }
    Ok(marked)
}

/// An integer of at most eight bytes.
fn integer(bytes: &[u8], big_endian: bool, signed: bool) -> i128 {
    let mut exact = [0u8; 8];
    exact[..bytes.len()].copy_from_slice(bytes);
    if big_endian {
        exact[..bytes.len()].reverse();
    }
    let number = u64::from_le_bytes(exact);
    let unused = 64 - 8 * bytes.len() as u32;
    if signed { i128::from((number << unused) as i64 >> unused) } else { i128::from(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_sizes_and_orders() {
        assert_eq!(integer(&[0xfe], false, true), -2);
        assert_eq!(integer(&[0xfe], false, false), 254);
        assert_eq!(integer(&[1, 2], false, true), 513);
        assert_eq!(integer(&[1, 2], true, true), 258);
        assert_eq!(integer(&[0xff; 4], true, true), -1);
        assert_eq!(integer(&[0xff; 8], false, false), i128::from(u64::MAX));
        assert_eq!(integer(&i64::MIN.to_be_bytes(), true, true), i128::from(i64::MIN));
    }
}
