//! Samples in memory: slices with strides, and `ndarray` views.

use std::ops::Range;

use super::block::{Block, BlockElement, Rows};
use super::element::Element;
use super::source::{Shape, Source};
use crate::error::{Error, Result};

/// Samples in memory, at any strides.
#[derive(Debug, Clone)]
pub struct SliceSource<'a, T> {
    rows: Rows<'a, T>,
    shape: Shape,
}

impl<'a, T: Element> SliceSource<'a, T> {
    /// Samples one after the other (C order).
    pub fn new(data: &'a [T], samples: usize, features: usize) -> Result<Self> {
        if samples.checked_mul(features) != Some(data.len()) {
            return Err(Error::invalid_argument(format!(
                "a shape of {samples} x {features} does not fit a buffer of {} elements",
                data.len()
            )));
        }
        Ok(Self::from_rows(Rows::contiguous(data, samples, features)?))
    }

    /// Samples at any strides.
    pub fn from_rows(rows: Rows<'a, T>) -> Self {
        let shape = Shape { samples: rows.rows(), features: rows.columns(), element: T::TYPE, image: None };
        Self { rows, shape }
    }

    /// Says that each sample is an image of this height and width.
    pub fn with_image(mut self, height: usize, width: usize) -> Result<Self> {
        if height.checked_mul(width) != Some(self.shape.features) {
            return Err(Error::invalid_argument(format!(
                "an image of {height} x {width} does not have {} pixels",
                self.shape.features
            )));
        }
        self.shape.image = Some((height, width));
        Ok(self)
    }
}

impl<T: BlockElement> Source for SliceSource<'_, T> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        visit(Block::new(rows.start, T::block_data(self.rows.select(rows.start, rows.len()))))
    }
}

/// The rows of an `ndarray` view, whatever its order: read in place where a block is contiguous, else block by block.
#[cfg(feature = "ndarray")]
#[derive(Debug, Clone)]
pub struct NdArraySource<'a, T> {
    view: ndarray::ArrayView2<'a, T>,
    shape: Shape,
}

#[cfg(feature = "ndarray")]
impl<'a, T: Element> NdArraySource<'a, T> {
    /// Wraps a view.
    pub fn new(view: ndarray::ArrayView2<'a, T>) -> Self {
        let (samples, features) = view.dim();
        Self { view, shape: Shape { samples, features, element: T::TYPE, image: None } }
    }
}

#[cfg(feature = "ndarray")]
impl<T: BlockElement> Source for NdArraySource<'_, T> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let (first, count) = (rows.start, rows.len());
        let part = self.view.slice(ndarray::s![rows, ..]);
        let standard = part.as_standard_layout();
        let data = standard.as_slice().expect("standard layout is contiguous");
        visit(Block::new(first, T::block_data(Rows::contiguous(data, count, self.shape.features)?)))
    }
}
