//! A `.npy` array as a source: mapped, and read in place wherever its bytes allow.
//!
//! | array | how a block is read |
//! |---|---|
//! | 2-D or 3-D, C order | in place |
//! | 2-D, Fortran order | in place, by strides |
//! | 3-D, Fortran order | gathered: pixel (y, x) of sample i lies at i + n (y + h x), which no single stride reaches |
//! | bytes in the other order, or not on a multiple of their size | copied, block by block |

use std::io::Read;
use std::mem::size_of;
use std::ops::Range;
use std::path::Path;

use steradian::{Block, ElementType, Error, Result, Rows, Shape, Source};

use crate::npy::element::FileElement;
use crate::npy::mmap::Mapped;
use crate::npy::npy_header::NpyHeader;
use crate::system::pread::{At, open_regular};

/// A 2-D array (samples x features) or a 3-D array (samples x height x width) in a `.npy` file.
#[derive(Debug)]
pub struct NpySource {
    mapped: Mapped,
    header: NpyHeader,
    shape: Shape,
}

impl NpySource {
    /// Opens a file: reads its header and maps it; no number is read yet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open_regular(path)?;
        let header = NpyHeader::read(path, &file, bytes)?;
        let shape = sample_shape(path, &header)?;
        let mapped = Mapped::new(path, file, bytes)?;
        Ok(Self { mapped, header, shape })
    }

    /// Whether blocks are lent from the file itself rather than copied.
    pub fn in_place(&self) -> bool {
        let native = self.header.big_endian == cfg!(target_endian = "big") || self.header.element == ElementType::U8;
        let aligned = self.header.start.is_multiple_of(self.header.element.bytes());
        native && aligned && !(self.header.fortran && self.shape.image.is_some())
    }

    /// Whether the array lies column after column.
    pub(crate) fn is_fortran(&self) -> bool {
        self.header.fortran
    }

    /// Where it was opened.
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
        // The bytes of these rows in C order. All products stay below the file's length.
        let row_bytes = features * size_of::<T>();
        let part = all.start + first * row_bytes..all.start + rows.end * row_bytes;
        let lend = |rows: Rows<'_, T>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>| {
            visit(Block::new(first, T::block_data(rows)))
        };
        if self.header.fortran {
            let lent = if self.in_place() { self.mapped.elements::<T>(all.clone()) } else { None };
            return match lent {
                Some(data) => lend(Rows::strided(data, first, count, features, 1, self.shape.samples as isize)?, visit),
                None => lend(Rows::contiguous(&self.gather::<T>(rows), count, features)?, visit),
            };
        }
        self.mapped.prepare(part.clone());
        let lent = if self.in_place() { self.mapped.elements::<T>(part.clone()) } else { None };
        match lent {
            Some(data) => lend(Rows::contiguous(data, count, features)?, visit)?,
            None => {
                let decode = |bytes| T::decode(bytes, self.header.big_endian);
                let copy: Vec<T> = self.mapped.bytes(part.clone()).chunks_exact(size_of::<T>()).map(decode).collect();
                lend(Rows::contiguous(&copy, count, features)?, visit)?;
            }
        }
        self.mapped.release(part);
        Ok(())
    }

    /// Rows of an array in Fortran order, copied into C order.
    fn gather<T: FileElement>(&self, rows: Range<usize>) -> Vec<T> {
        let (samples, features, size) = (self.shape.samples, self.shape.features, size_of::<T>());
        let mut out = vec![T::default(); rows.len() * features];
        for column in 0..features {
            // In the file, pixels run down the columns of an image; in a sample they run along its rows.
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

/// Fails when a source of `samples` rows is asked for rows it does not have.
pub(crate) fn check_rows(path: &Path, rows: &Range<usize>, samples: usize) -> Result<()> {
    if rows.start <= rows.end && rows.end <= samples {
        return Ok(());
    }
    let Range { start, end } = rows;
    Err(Error::invalid_argument(format!(
        "{}: rows {start}..{end} are asked for, but there are {samples}",
        path.display()
    )))
}

/// What the dimensions mean: samples first, then features or an image.
pub(crate) fn sample_shape(path: &Path, header: &NpyHeader) -> Result<Shape> {
    let refuse = |what: String| Err(Error::invalid_data(format!("{}: {what}", path.display())));
    let shape = header.shape_text();
    const WANTED: &str = "an array is read as (samples, features) or (samples, height, width)";
    let (samples, features, image) = match header.dimensions[..] {
        [samples, features] => (samples, Some(features), None),
        [samples, height, width] => (samples, height.checked_mul(width), Some((height, width))),
        [] => return refuse(format!("shape () is a single number; {WANTED}")),
        [_] => {
            return refuse(format!(
                "shape {shape} has 1 dimension; {WANTED}: reshape it with X.reshape(1, -1) if it is one sample, with \
                 X.reshape(-1, 1) if it is one feature"
            ));
        }
        [samples, ..] => {
            let count = header.dimensions.len();
            return refuse(format!(
                "shape {shape} has {count} dimensions; {WANTED}: reshape it with X.reshape({samples}, -1)"
            ));
        }
    };
    match features {
        Some(features) if header.bytes > 0 => Ok(Shape { samples, features, element: header.element, image }),
        _ => refuse(format!("shape {shape} holds no numbers; {WANTED}, each at least 1")),
    }
}

/// Reads a 1-D `.npy` array of any type that is read, in double precision.
///
/// Numbers that are not finite are refused: the vector is meant as a center.
pub fn read_vector(path: impl AsRef<Path>) -> Result<Vec<f64>> {
    let path = path.as_ref();
    let (file, bytes) = open_regular(path)?;
    let header = NpyHeader::read(path, &file, bytes)?;
    let (name, shape) = (path.display(), header.shape_text());
    if header.dimensions.len() != 1 {
        let count = header.dimensions.len();
        return Err(Error::invalid_data(format!(
            "{name}: shape {shape} has {count} dimensions where a vector has 1; save x.ravel()"
        )));
    }
    let mut data = Vec::with_capacity(header.bytes);
    let mut part = At::new(&file, header.start as u64).take(header.bytes as u64);
    part.read_to_end(&mut data).map_err(|e| Error::io(path, e))?;
    let vector = match header.element {
        ElementType::U8 => widen::<u8>(&data, header.big_endian),
        ElementType::U16 => widen::<u16>(&data, header.big_endian),
        ElementType::F32 => widen::<f32>(&data, header.big_endian),
        ElementType::F64 => widen::<f64>(&data, header.big_endian),
    };
    // A file cut short since its header was read shows here.
    if vector.len() != header.dimensions[0] {
        let (wanted, found) = (header.dimensions[0], vector.len());
        return Err(Error::corrupt_file(
            path,
            format!("{wanted} numbers were expected and {found} found; copy it again"),
        ));
    }
    match vector.iter().position(|number| !number.is_finite()) {
        None => Ok(vector),
        Some(i) => {
            Err(Error::invalid_data(format!("{name}: element {i} is {}; a center needs finite numbers", vector[i])))
        }
    }
}

fn widen<T: FileElement>(bytes: &[u8], big_endian: bool) -> Vec<f64> {
    bytes.chunks_exact(size_of::<T>()).map(|number| T::decode(number, big_endian).widen()).collect()
}
