//! Writers of arrays and tables, atomic.

#[cfg(feature = "csv")]
use std::io;
use std::path::Path;

#[cfg(feature = "csv")]
use steradian::Matrix;
use steradian::data::ElementType;
use steradian::memory::CollectReserved;
use steradian::{Error, Result};

use crate::npy::element::FileElement;
use crate::npy::npy_header::MAGIC;
use crate::output::atomic_file::AtomicFile;
#[cfg(feature = "csv")]
use crate::output::atomic_file::cannot_write;

/// A writer of a `.npy` array of known shape and element type, which is passed in several calls.
#[derive(Debug)]
pub struct NpyWriter {
    file: AtomicFile,
    element: ElementType,
    rows: usize,
    /// Number of elements per row.
    row_length: usize,
    /// Number of elements written so far.
    written: usize,
    bytes: Vec<u8>,
}

impl NpyWriter {
    /// Starts an array of this shape, whose first dimension is the number of rows.
    pub fn create(path: impl AsRef<Path>, element: ElementType, shape: &[usize]) -> Result<Self> {
        Self::begin(AtomicFile::create(path)?, element, shape)
    }

    /// Starts an array whose content goes to a new file.
    pub fn begin(file: AtomicFile, element: ElementType, shape: &[usize]) -> Result<Self> {
        let descr = match element {
            ElementType::U8 => u8::DESCR,
            ElementType::U16 => u16::DESCR,
            ElementType::F32 => f32::DESCR,
            ElementType::F64 => f64::DESCR,
        };
        Self::with_descr(file, descr, element, shape)
    }

    /// Starts an array of booleans, which [`NpyWriter::write_mask`] appends.
    pub fn create_mask(path: impl AsRef<Path>, shape: &[usize]) -> Result<Self> {
        Self::with_descr(AtomicFile::create(path)?, "|b1", ElementType::U8, shape)
    }

    fn with_descr(mut file: AtomicFile, descr: &str, element: ElementType, shape: &[usize]) -> Result<Self> {
        let path = file.path();
        let Some((&rows, sizes)) = shape.split_first() else {
            return Err(Error::invalid_argument(format!(
                "{}: an array requires at least one dimension",
                path.display()
            )));
        };
        let row_length = sizes.iter().try_fold(1usize, |length, &size| length.checked_mul(size));
        let Some(row_length) = row_length.filter(|&length| length.checked_mul(rows).is_some()) else {
            return Err(Error::invalid_argument(format!(
                "{}: the number of elements of shape {shape:?} exceeds 2^{}",
                path.display(),
                usize::BITS
            )));
        };
        file.append(&header(descr, shape))?;
        Ok(Self { file, element, rows, row_length, written: 0, bytes: Vec::new() })
    }

    /// Appends complete rows; elements are rounded to the nearest value of the element type of the array.
    pub fn write<T: FileElement>(&mut self, rows: &[T]) -> Result<()> {
        let remaining = self.rows * self.row_length - self.written;
        let complete = if self.row_length == 0 { rows.is_empty() } else { rows.len().is_multiple_of(self.row_length) };
        if !complete || rows.len() > remaining {
            return Err(Error::invalid_argument(format!(
                "{}: expected complete rows of {} elements, at most {}, got {} elements",
                self.file.path().display(),
                self.row_length,
                remaining.checked_div(self.row_length).unwrap_or(0),
                rows.len()
            )));
        }
        for part in rows.chunks(1 << 14) {
            match self.element {
                ElementType::U8 => encode::<T, u8>(part, &mut self.bytes),
                ElementType::U16 => encode::<T, u16>(part, &mut self.bytes),
                ElementType::F32 => encode::<T, f32>(part, &mut self.bytes),
                ElementType::F64 => encode::<T, f64>(part, &mut self.bytes),
            }
            self.file.append(&self.bytes)?;
        }
        self.written += rows.len();
        Ok(())
    }

    /// Appends complete rows of booleans.
    pub fn write_mask(&mut self, rows: &[bool]) -> Result<()> {
        self.write(&rows.iter().map(|&set| u8::from(set)).collect_reserved())
    }

    /// Puts the array into place; fails if rows are missing.
    pub fn finish(self) -> Result<()> {
        self.into_file()?.finish()
    }

    /// The complete file, not yet in place; fails if rows are missing.
    pub fn into_file(mut self) -> Result<AtomicFile> {
        if self.written != self.rows * self.row_length {
            return Err(Error::invalid_argument(format!(
                "{}: the array is incomplete, {} of {} rows were written",
                self.file.path().display(),
                self.written.checked_div(self.row_length).unwrap_or(0),
                self.rows
            )));
        }
        self.file.complete()?;
        Ok(self.file)
    }
}

/// Converts elements to the bytes of another type, by f64, which represents every value of every element type.
fn encode<From: FileElement, To: FileElement>(numbers: &[From], bytes: &mut Vec<u8>) {
    bytes.resize(numbers.len() * size_of::<To>(), 0);
    for (bytes, number) in bytes.chunks_exact_mut(size_of::<To>()).zip(numbers) {
        To::narrow(number.widen()).encode(bytes);
    }
}

/// A version 1 header as numpy writes it: padded with spaces so that the data start at a multiple of 64 bytes.
fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if shape.len() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let padding = (64 - (10 + text.len() + 1) % 64) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes
}

/// Writes a matrix as a text table. Numbers have the fewest digits that are read back to the same f64.
#[cfg(feature = "csv")]
pub fn write_csv(path: impl AsRef<Path>, header: Option<&[String]>, matrix: &Matrix) -> Result<()> {
    let (path, columns) = (path.as_ref(), matrix.columns());
    if let Some(names) = header.filter(|names| names.len() != columns) {
        let (path, count) = (path.display(), names.len());
        return Err(Error::invalid_argument(format!("{path}: expected {columns} column names, got {count}")));
    }
    let mut table = ::csv::Writer::from_writer(AtomicFile::create(path)?);
    let failed = |e: ::csv::Error| cannot_write(path, &io::Error::other(e));
    if let Some(names) = header {
        table.write_record(names).map_err(failed)?;
    }
    for row in 0..matrix.rows() {
        table.write_record(matrix.row(row).iter().map(|number| format!("{number:?}"))).map_err(failed)?;
    }
    table.into_inner().map_err(|e| cannot_write(path, e.error()))?.finish()
}
