//! A source: something that knows its shape and hands out any rows, as often as asked.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::block::{Block, BlockElement, Rows};
use super::element::{Element, ElementType};
use crate::error::{Error, Result};
use crate::remote::steps::Recipe;

/// What is known of data before the first sample is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The number of samples, n.
    pub samples: usize,
    /// The number of features, D.
    pub features: usize,
    /// The type of one number.
    pub element: ElementType,
    /// Height and width when a sample is an image.
    pub image: Option<(usize, usize)>,
}

impl Shape {
    /// Bytes of the whole data.
    pub fn bytes(&self) -> u64 {
        self.samples as u64 * self.features as u64 * self.element.bytes() as u64
    }
}

/// Data that can be read again and again, any rows at a time.
///
/// The grid of a pass, not the source, decides which rows come together: a source only has to serve them. Memory, a
/// mapped file and a parsed table differ in nothing else.
pub trait Source: Sync {
    /// The shape; it never changes.
    fn shape(&self) -> &Shape;

    /// The name of a feature, where features have names.
    fn feature_name(&self, feature: usize) -> Option<String> {
        let _ = feature;
        None
    }

    /// Says that these samples will be asked for one by one: where rows lie far away, they come together.
    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        let _ = samples;
        Ok(())
    }

    /// How this source is made of rows that lie elsewhere; `None` where they lie in this process.
    fn recipe(&self) -> Option<Recipe<'_>> {
        None
    }

    /// Says that a pass begins: `lanes` threads visit these parts of the rows, each front to back, and take the next part
    /// in order when they are done with one. A source that reads ahead goes by it; it may be ignored, and it ends what
    /// was announced before.
    fn announce(&self, parts: &[Range<usize>], lanes: usize) {
        let _ = (parts, lanes);
    }

    /// Memory that serving blocks to this many threads takes, the data themselves apart where they lie in memory.
    fn held_bytes(&self, threads: usize) -> u64 {
        let _ = threads;
        0
    }

    /// Hands the given rows to `visit` as one block, lent for the time of the call.
    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()>;
}

/// Samples in memory, at any strides.
#[derive(Debug, Clone)]
pub struct Memory<'a, T> {
    rows: Rows<'a, T>,
    shape: Shape,
}

impl<'a, T: Element> Memory<'a, T> {
    /// Samples one after the other (C order).
    pub fn new(data: &'a [T], samples: usize, features: usize) -> Result<Self> {
        if samples.checked_mul(features) != Some(data.len()) {
            return Err(Error::asked(format!(
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
            return Err(Error::asked(format!(
                "an image of {height} x {width} does not have {} pixels",
                self.shape.features
            )));
        }
        self.shape.image = Some((height, width));
        Ok(self)
    }
}

impl<T: BlockElement> Source for Memory<'_, T> {
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
pub struct NdArray<'a, T> {
    view: ndarray::ArrayView2<'a, T>,
    shape: Shape,
}

#[cfg(feature = "ndarray")]
impl<'a, T: Element> NdArray<'a, T> {
    /// Wraps a view.
    pub fn new(view: ndarray::ArrayView2<'a, T>) -> Self {
        let (samples, features) = view.dim();
        Self { view, shape: Shape { samples, features, element: T::TYPE, image: None } }
    }
}

#[cfg(feature = "ndarray")]
impl<T: BlockElement> Source for NdArray<'_, T> {
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
