//! A `.npy` array as a source: memory-mapped, and read in place (zero-copy) where byte order and alignment allow it.
//!
//! | array | access to a block |
//! |---|---|
//! | 2-D or 3-D, C order | in place |
//! | 2-D, Fortran order | in place, by strides |
//! | 3-D, Fortran order | gathered: pixel (y, x) of sample i is element i + n (y + h x), which no single stride reaches |
//! | foreign byte order, or not aligned | copied, block by block |

use std::io::Read;
use std::mem::size_of;
use std::ops::Range;
use std::path::Path;

use steradian::data::{Block, ElementType, Rows, Shape};
use steradian::engine::Grid;
use steradian::memory::{self, CollectReserved};
use steradian::{Error, Result, Source};

use crate::npy::element::FileElement;
use crate::npy::mmap::MappedFile;
use crate::npy::npy_header::{NpyHeader, NumberKind};
use crate::system::pread::{PositionedReader, open_regular};

/// A 2-D array (samples x features) or a 3-D array (samples x height x width) in a `.npy` file.
#[derive(Debug)]
pub struct NpySource {
    mapped: MappedFile,
    header: NpyHeader,
    shape: Shape,
}

impl NpySource {
    /// Opens a file: reads its header and maps it, without reading the elements.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open_regular(path)?;
        let header = NpyHeader::read(path, &file, bytes)?;
        let shape = sample_shape(path, &header)?;
        let mapped = MappedFile::new(path, file, bytes)?;
        Ok(Self { mapped, header, shape })
    }

    /// Opens a mask of the cells of data: an array of bool or uint8 with one value per cell.
    pub(crate) fn open_mask(path: &Path, data: &Shape) -> Result<Self> {
        let (file, bytes) = open_regular(path)?;
        let header = NpyHeader::read_marks(path, &file, bytes)?;
        let reject =
            |problem: String| Err(Error::invalid_parameter("missing_mask", format!("{}: {problem}", path.display())));
        if header.element != ElementType::U8 || header.kind == NumberKind::Integer(true) {
            return reject("the mask is neither of bool nor of uint8; use bool, true for a missing cell".to_owned());
        }
        let of_data = match data.image {
            Some((height, width)) => vec![data.samples, height, width],
            None => vec![data.samples, data.features],
        };
        if header.dimensions != of_data && header.dimensions != [data.samples, data.features] {
            let sides: Vec<String> = of_data.iter().map(usize::to_string).collect();
            return reject(format!(
                "the mask has the shape {} but the data have the shape ({}); give one value per cell",
                header.shape_text(),
                sides.join(", ")
            ));
        }
        let shape = sample_shape(path, &header)?;
        let mapped = MappedFile::new(path, file, bytes)?;
        Ok(Self { mapped, header, shape })
    }

    /// True if blocks are borrowed from the mapping instead of copied.
    pub fn in_place(&self) -> bool {
        let native = self.header.big_endian == cfg!(target_endian = "big") || self.header.element == ElementType::U8;
        let aligned = self.header.start.is_multiple_of(self.header.element.bytes());
        native && aligned && !(self.header.fortran && self.shape.image.is_some())
    }

    /// True if the array is in Fortran order.
    pub(crate) fn is_fortran(&self) -> bool {
        self.header.fortran
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.mapped.path()
    }

    fn visit_as<T: FileElement>(
        &self,
        rows: Range<usize>,
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let (first, count, features) = (rows.start, rows.len(), self.shape.features);
        let all = self.header.start..self.header.start + self.header.bytes;
        // The bytes of these rows in C order. No product exceeds the length of the file.
        let row_bytes = features * size_of::<T>();
        let part = all.start + first * row_bytes..all.start + rows.end * row_bytes;
        let visit_rows = |rows: Rows<'_, T>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>| {
            visit(Block::new(first, T::block_data(rows)))
        };
        if self.header.fortran {
            let elements = if self.in_place() { self.mapped.elements::<T>(all.clone()) } else { None };
            return match elements {
                Some(data) => {
                    visit_rows(Rows::strided(data, first, count, features, 1, self.shape.samples as isize)?, visit)
                }
                None => visit_rows(Rows::contiguous(&self.gather::<T>(rows), count, features)?, visit),
            };
        }
        self.mapped.prepare(part.clone());
        let elements = if self.in_place() { self.mapped.elements::<T>(part.clone()) } else { None };
        match elements {
            Some(data) => visit_rows(Rows::contiguous(data, count, features)?, visit)?,
            None => {
                let decode = |bytes| T::decode(bytes, self.header.big_endian);
                let copy = self.mapped.bytes(part.clone()).chunks_exact(size_of::<T>()).map(decode).collect_reserved();
                visit_rows(Rows::contiguous(&copy, count, features)?, visit)?;
            }
        }
        self.mapped.release(part);
        Ok(())
    }

    /// Rows of an array in Fortran order, copied into C order.
    fn gather<T: FileElement>(&self, rows: Range<usize>) -> Vec<T> {
        let (samples, features, size) = (self.shape.samples, self.shape.features, size_of::<T>());
        let mut out = memory::filled(rows.len() * features, T::default());
        for column in 0..features {
            // The file stores an image column by column, a sample stores it row by row.
            let feature = match self.shape.image {
                Some((height, width)) => column % height * width + column / height,
                None => column,
            };
            let start = self.header.start + (column * samples + rows.start) * size;
            let bytes = self.mapped.bytes(start..start + rows.len() * size);
            for (row, number) in bytes.chunks_exact(size).enumerate() {
                out[row * features + feature] = T::decode(number, self.header.big_endian);
            }
        }
        out
    }
}

impl Source for NpySource {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        if self.in_place() {
            return 0;
        }
        // A copy of the block of each thread.
        let Shape { samples, features, element, .. } = self.shape;
        let block = Grid::new(samples, features, 0).block_rows().min(samples);
        (threads * block * features * element.bytes()) as u64
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(self.mapped.path(), &rows, self.shape.samples)?;
        self.mapped.check_length()?;
        match self.header.element {
            ElementType::U8 => self.visit_as::<u8>(rows, visit),
            ElementType::U16 => self.visit_as::<u16>(rows, visit),
            ElementType::F32 => self.visit_as::<f32>(rows, visit),
            ElementType::F64 => self.visit_as::<f64>(rows, visit),
        }
    }
}

/// Fails if a range of rows exceeds a source of `samples` rows.
pub(crate) fn check_rows(path: &Path, rows: &Range<usize>, samples: usize) -> Result<()> {
    if rows.start <= rows.end && rows.end <= samples {
        return Ok(());
    }
    let Range { start, end } = rows;
    Err(Error::invalid_argument(format!("{}: rows {start}..{end} exceed the {samples} rows", path.display())))
}

/// The shape of the data: the first dimension is samples, the others are features or an image.
pub(crate) fn sample_shape(path: &Path, header: &NpyHeader) -> Result<Shape> {
    let reject = |problem: String| Err(Error::invalid_data(format!("{}: {problem}", path.display())));
    let shape = header.shape_text();
    const EXPECTED: &str = "an array is read as (samples, features) or (samples, height, width)";
    let (samples, features, image) = match header.dimensions[..] {
        [samples, features] => (samples, Some(features), None),
        [samples, height, width] => (samples, height.checked_mul(width), Some((height, width))),
        [] => return reject(format!("shape () has 0 dimensions; {EXPECTED}")),
        [_] => {
            return reject(format!(
                "shape {shape} has 1 dimension; {EXPECTED}: reshape it with X.reshape(1, -1) if it is one sample, with \
                 X.reshape(-1, 1) if it is one feature"
            ));
        }
        [samples, ..] => {
            let count = header.dimensions.len();
            return reject(format!(
                "shape {shape} has {count} dimensions; {EXPECTED}: reshape it with X.reshape({samples}, -1)"
            ));
        }
    };
    match features {
        Some(features) if header.bytes > 0 => Ok(Shape { samples, features, element: header.element, image }),
        _ => reject(format!("shape {shape} has no elements; {EXPECTED}, each at least 1")),
    }
}

/// Reads a 1-D `.npy` array of any supported element type as f64.
///
/// Fails if an element is not finite: the vector is used as a center.
pub fn read_vector(path: impl AsRef<Path>) -> Result<Vec<f64>> {
    let path = path.as_ref();
    let (file, bytes) = open_regular(path)?;
    let header = NpyHeader::read(path, &file, bytes)?;
    let (name, shape) = (path.display(), header.shape_text());
    if header.dimensions.len() != 1 {
        let count = header.dimensions.len();
        return Err(Error::invalid_data(format!(
            "{name}: expected a vector with 1 dimension, got shape {shape} with {count}; save x.ravel()"
        )));
    }
    let mut data = memory::reserved(header.bytes);
    let mut part = PositionedReader::new(&file, header.start as u64).take(header.bytes as u64);
    part.read_to_end(&mut data).map_err(|e| Error::io(path, e))?;
    let vector = match header.element {
        ElementType::U8 => widen::<u8>(&data, header.big_endian),
        ElementType::U16 => widen::<u16>(&data, header.big_endian),
        ElementType::F32 => widen::<f32>(&data, header.big_endian),
        ElementType::F64 => widen::<f64>(&data, header.big_endian),
    };
    // The file may have been truncated after its header was read.
    if vector.len() != header.dimensions[0] {
        let (expected, found) = (header.dimensions[0], vector.len());
        return Err(Error::corrupt_file(
            path,
            format!("expected {expected} elements, got {found}; the file is truncated: copy it again"),
        ));
    }
    match vector.iter().position(|number| !number.is_finite()) {
        None => Ok(vector),
        Some(i) => {
            Err(Error::invalid_data(format!("{name}: element {i} is {}; a center requires finite values", vector[i])))
        }
    }
}

fn widen<T: FileElement>(bytes: &[u8], big_endian: bool) -> Vec<f64> {
    bytes.chunks_exact(size_of::<T>()).map(|number| T::decode(number, big_endian).widen()).collect_reserved()
}
