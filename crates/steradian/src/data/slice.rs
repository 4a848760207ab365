//! Sources in memory: slices with any strides, and `ndarray` views.

use std::ops::Range;

use super::block::{Block, BlockElement, Rows};
use super::element::Element;
use super::source::{Shape, Source};
use crate::error::{Error, Result};

/// A source over a borrowed slice, with any strides; blocks are read in place (zero-copy).
#[derive(Debug, Clone)]
pub struct SliceSource<'a, T> {
    rows: Rows<'a, T>,
    shape: Shape,
}

impl<'a, T: Element> SliceSource<'a, T> {
    /// A source over contiguous samples (C order); `data` holds `samples * features` elements.
    ///
    /// # Errors
    /// If the slice has not `samples * features` elements.
    pub fn new(data: &'a [T], samples: usize, features: usize) -> Result<Self> {
        if samples.checked_mul(features) != Some(data.len()) {
            return Err(Error::invalid_argument(format!(
                "a shape of {samples} x {features} requires {} elements, got {}",
                samples as u128 * features as u128,
                data.len()
            )));
        }
        Ok(Self::from_rows(Rows::contiguous(data, samples, features)?))
    }

    /// A source over rows with any strides.
    pub fn from_rows(rows: Rows<'a, T>) -> Self {
        let shape = Shape { samples: rows.rows(), features: rows.columns(), element: T::TYPE, image: None };
        Self { rows, shape }
    }

    /// Sets the height and width of the images that the samples are.
    ///
    /// # Errors
    /// If the number of features is not `height * width`.
    pub fn with_image(mut self, height: usize, width: usize) -> Result<Self> {
        if height.checked_mul(width) != Some(self.shape.features) {
            return Err(Error::invalid_argument(format!(
                "images of {height} x {width} pixels require {} features, got {}",
                height as u128 * width as u128,
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
