//! Conversion of samples that cannot be read in place, block by block: foreign byte order, unaligned memory,
//! unsupported element types, columns of a data frame, images of irregular strides.
//!
//! | column | block |
//! |---|---|
//! | bool, uint8 | uint8 |
//! | uint16 | uint16 |
//! | int8, int16, float16, float32 | float32 |
//! | int32, int64, uint32, uint64, float64 | float64 |
//!
//! Columns of several types are converted to the widest. All conversions are exact except those of 64-bit integers
//! beyond 2^53.

use std::ops::Range;

use steradian::data::{Block, BlockElement, ElementType, Rows, Shape};
use steradian::{Result, memory};

use crate::memory::{ArrayRows, BorrowedArray, ElementKind};

/// Rows converted before the next column is started: few enough that their cache lines stay in the first level.
const TILE_ROWS: usize = 64;

/// Arrays side by side, each one column or one table.
pub struct ConvertedColumns {
    parts: Vec<BorrowedArray>,
    shape: Shape,
}

impl ConvertedColumns {
    /// Joins arrays with the same number of samples; all axes but the first are features.
    pub fn new(parts: Vec<BorrowedArray>, samples: usize, image: Option<(usize, usize)>) -> Self {
        let features = parts.iter().map(|part| part.shape()[1..].iter().product::<usize>()).sum();
        let element =
            parts.iter().map(|part| target(part.kind())).max_by_key(|e| e.bytes()).unwrap_or(ElementType::F64);
        Self { parts, shape: Shape { samples, features, element, image } }
    }

    /// Bytes of a block's copy per thread, for columns of mapped files.
    pub fn buffer_bytes(&self, block_rows: usize) -> u64 {
        let bytes = |part: &BorrowedArray| part.shape()[1..].iter().product::<usize>() * part.kind().bytes();
        let row: usize = self.parts.iter().filter(|part| part.mapped()).map(bytes).sum();
        (block_rows.min(self.shape.samples) * row) as u64
    }

    /// The shape of the converted data.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Converts some rows and passes them to `visit`.
    pub fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        match self.shape.element {
            ElementType::U8 => self.visit_as(rows, visit, |x| x as u8),
            ElementType::U16 => self.visit_as(rows, visit, |x| x as u16),
            ElementType::F32 => self.visit_as(rows, visit, |x| x as f32),
            ElementType::F64 => self.visit_as(rows, visit, |x| x),
        }
    }

    fn visit_as<T: BlockElement>(
        &self,
        rows: Range<usize>,
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
        narrow: impl Fn(f64) -> T,
    ) -> Result<()> {
        let features = self.shape.features;
        let parts = self.parts.iter().map(|part| part.rows(&rows)).collect::<Result<Vec<_>>>()?;
        let mut out = memory::filled(rows.len() * features, T::default());
        for (tile, out) in out.chunks_mut((TILE_ROWS * features).max(1)).enumerate() {
            let first = tile * TILE_ROWS;
            let tile = first..(first + TILE_ROWS).min(rows.len());
            let mut column = 0;
            for part in &parts {
                each_index(&part.shape()[1..], |others| {
                    let mut at = column;
                    widen(part, tile.clone(), others, |x| {
                        out[at] = narrow(x);
                        at += features;
                    });
                    column += 1;
                });
            }
        }
        visit(Block::new(rows.start, T::block_data(Rows::contiguous(&out, rows.len(), features)?)))
    }
}

/// The smallest element type of the library that holds the values of a kind.
fn target(kind: ElementKind) -> ElementType {
    match kind {
        ElementKind::Bool | ElementKind::U8 => ElementType::U8,
        ElementKind::U16 => ElementType::U16,
        ElementKind::I8 | ElementKind::I16 | ElementKind::F16 | ElementKind::F32 => ElementType::F32,
        ElementKind::I32 | ElementKind::U32 | ElementKind::I64 | ElementKind::U64 | ElementKind::F64 => {
            ElementType::F64
        }
    }
}

/// Visits all indices of an array of this shape, the last axis fastest; one empty index for an empty shape.
fn each_index(sides: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut index = vec![0; sides.len()];
    for _ in 0..sides.iter().product::<usize>() {
        visit(&index);
        for axis in (0..sides.len()).rev() {
            index[axis] += 1;
            if index[axis] < sides[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Visits the values along the first axis, as f64.
fn widen(part: &ArrayRows<'_>, rows: Range<usize>, others: &[usize], visit: impl FnMut(f64)) {
    match part.kind() {
        ElementKind::Bool | ElementKind::U8 => read(part, rows, others, |b| f64::from(u8::from_ne_bytes(b)), visit),
        ElementKind::I8 => read(part, rows, others, |b| f64::from(i8::from_ne_bytes(b)), visit),
        ElementKind::I16 => read(part, rows, others, |b| f64::from(i16::from_ne_bytes(b)), visit),
        ElementKind::U16 => read(part, rows, others, |b| f64::from(u16::from_ne_bytes(b)), visit),
        ElementKind::I32 => read(part, rows, others, |b| f64::from(i32::from_ne_bytes(b)), visit),
        ElementKind::U32 => read(part, rows, others, |b| f64::from(u32::from_ne_bytes(b)), visit),
        ElementKind::I64 => read(part, rows, others, |b| i64::from_ne_bytes(b) as f64, visit),
        ElementKind::U64 => read(part, rows, others, |b| u64::from_ne_bytes(b) as f64, visit),
        ElementKind::F16 => read(part, rows, others, |b| f64::from(half(u16::from_ne_bytes(b))), visit),
        ElementKind::F32 => read(part, rows, others, |b| f64::from(f32::from_ne_bytes(b)), visit),
        ElementKind::F64 => read(part, rows, others, f64::from_ne_bytes, visit),
    }
}

fn read<const N: usize>(
    part: &ArrayRows<'_>,
    rows: Range<usize>,
    others: &[usize],
    convert: impl Fn([u8; N]) -> f64,
    mut visit: impl FnMut(f64),
) {
    let swapped = part.swapped();
    part.each(rows, others, |mut bytes: [u8; N]| {
        if swapped {
            bytes.reverse();
        }
        visit(convert(bytes));
    });
}

/// The value of an f16: 1 bit of sign, 5 of exponent, 10 of fraction.
fn half(bits: u16) -> f32 {
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    let moved = magnitude << 13;
    // The shifted exponent is 112 too small, which a product corrects for normal and subnormal values alike;
    // infinity and NaN have the exponent of all ones instead.
    let value =
        if magnitude < 0x7c00 { f32::from_bits(moved) * 2f32.powi(112) } else { f32::from_bits(moved | 0x7f80_0000) };
    f32::from_bits(value.to_bits() | sign)
}
