//! A view of a source whose marked cells are missing: for data that cannot contain NaN, and for marks in a file of their own.

use std::ops::Range;

use rayon::prelude::*;

use super::block::{Block, BlockData, BlockElement, Rows, each_element};
use super::element::{Element, ElementType};
use super::source::{Shape, Source, View};
use crate::error::{Error, Result};
use crate::memory;

/// Rows of the largest block.
const BLOCK_ROWS: usize = 256;

/// The cells of a source, NaN where a mask is 1. The element type is f64 for f64 data, f32 for the others.
#[derive(Debug)]
pub struct MaskedCells<S, M> {
    source: S,
    mask: M,
    shape: Shape,
}

impl<S: Source, M: Source> MaskedCells<S, M> {
    /// A view of the source through a mask of u8 with one value per cell: 1 for a missing cell, else 0.
    ///
    /// # Errors
    /// For a mask of another shape or element type.
    pub fn new(source: S, mask: M) -> Result<Self> {
        let (of, own) = (source.shape(), mask.shape());
        let sides = |shape: &Shape| match shape.image {
            Some((height, width)) => format!("({}, {height}, {width})", shape.samples),
            None => format!("({}, {})", shape.samples, shape.features),
        };
        let same_image = own.image.is_none() || own.image == of.image;
        if (own.samples, own.features) != (of.samples, of.features) || !same_image {
            return Err(Error::invalid_parameter(
                "missing_mask",
                format!(
                    "the mask has the shape {} but the data have the shape {}; give one value per cell",
                    sides(own),
                    sides(of)
                ),
            ));
        }
        if own.element != ElementType::U8 {
            let problem = format!("the mask is of {}; use bool, or uint8 with 0 and 1", own.element);
            return Err(Error::invalid_parameter("missing_mask", problem));
        }
        let shape = Shape { element: of.element.mapped(), ..of.clone() };
        Ok(Self { source, mask, shape })
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The mask.
    pub fn mask(&self) -> &M {
        &self.mask
    }

    /// The source and the mask.
    pub fn into_parts(self) -> (S, M) {
        (self.source, self.mask)
    }
}

impl<S: Source, M: Source> Source for MaskedCells<S, M> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn view(&self) -> View<'_> {
        View::Opaque
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        self.source.feature_name(feature)
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        self.source.prefetch(samples)?;
        self.mask.prefetch(samples)
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.source.advise_access(parts, n_threads);
        self.mask.advise_access(parts, n_threads);
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        let Shape { samples, features, element, .. } = self.shape;
        let block = samples.min(BLOCK_ROWS) * features * element.bytes();
        self.source.buffer_bytes(threads) + self.mask.buffer_bytes(threads) + (threads * block) as u64
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        self.source.visit(rows.clone(), &mut |block| {
            self.mask.visit(rows.clone(), &mut |marks| match self.shape.element {
                ElementType::F64 => visit_masked(&block, &marks, |x| x, f64::NAN, visit),
                _ => visit_masked(&block, &marks, |x| x as f32, f32::NAN, visit),
            })
        })
    }
}

/// Calls `visit` with the cells of a block, and `missing` in the place of the marked ones.
fn visit_masked<T: BlockElement>(
    block: &Block<'_>,
    marks: &Block<'_>,
    narrow: impl Fn(f64) -> T + Sync,
    missing: T,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    let BlockData::U8(marks) = marks.data() else {
        return Err(Error::invalid_parameter("missing_mask", "the mask is not of uint8"));
    };
    let features = marks.columns();
    let mut data: Vec<T> = memory::filled(block.rows() * features, missing);
    let fill = |(row, out): (usize, &mut [T])| -> Result<()> {
        each_element!(block, cells => for (column, out) in out.iter_mut().enumerate() {
            match marks.get(row, column) {
                0 => *out = narrow(cells.get(row, column).widen()),
                1 => {}
                other => {
                    return Err(Error::invalid_parameter(
                        "missing_mask",
                        format!("the mask is {other} at row {}, column {column}; use 0 and 1", block.first() + row),
                    ));
                }
            }
        });
        Ok(())
    };
    data.par_chunks_mut(features.max(1)).enumerate().try_for_each(fill)?;
    let rows = Rows::contiguous(&data, block.rows(), features)?;
    visit(Block::new(block.first(), T::block_data(rows)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;
    use crate::data::source::read_sample;

    #[test]
    fn marked_cells_are_missing() {
        let data: Vec<u8> = (0..12).collect();
        let mask = [0u8, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1];
        let of = |rows, columns| SliceSource::new(&mask, rows, columns).unwrap();
        let view = MaskedCells::new(SliceSource::new(&data, 4, 3).unwrap(), of(4, 3)).unwrap();
        assert_eq!(view.shape().element, ElementType::F32);
        for row in 0..4 {
            for (column, x) in read_sample(&view, row).unwrap().into_iter().enumerate() {
                let place = 3 * row + column;
                assert_eq!(x.to_bits(), if mask[place] == 1 { f64::NAN } else { place as f64 }.to_bits());
            }
        }
        let doubles: Vec<f64> = data.iter().map(|x| f64::from(*x) + 1e-9).collect();
        let view = MaskedCells::new(SliceSource::new(&doubles, 4, 3).unwrap(), of(4, 3)).unwrap();
        assert_eq!(read_sample(&view, 1).unwrap(), doubles[3..6]);
    }

    #[test]
    fn other_masks_are_rejected() {
        let data = [0.0f64; 12];
        let source = || SliceSource::new(&data, 4, 3).unwrap();
        let mask = [0u8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let shaped = MaskedCells::new(source(), SliceSource::new(&mask, 3, 4).unwrap()).unwrap_err().to_string();
        assert!(shaped.contains("shape (3, 4) but the data have the shape (4, 3)"), "{shaped}");
        assert!(MaskedCells::new(source(), SliceSource::new(&data, 4, 3).unwrap()).is_err());
        let view = MaskedCells::new(source(), SliceSource::new(&mask, 4, 3).unwrap()).unwrap();
        let said = read_sample(&view, 0).unwrap_err().to_string();
        assert!(said.contains("the mask is 2 at row 0, column 1"), "{said}");
    }
}
