//! The source trait: data of known shape whose rows can be read repeatedly, by row range.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::block::Block;
use super::element::ElementType;
use super::row_map::RowMap;
use crate::error::Result;
use crate::memory;

/// Shape and element type of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The number of samples, n.
    pub samples: usize,
    /// The number of features, D.
    pub features: usize,
    /// The element type.
    pub element: ElementType,
    /// Height and width of the image, if a sample is an image.
    pub image: Option<(usize, usize)>,
}

impl Shape {
    /// Bytes of all samples.
    pub fn bytes(&self) -> u64 {
        self.samples as u64 * self.features as u64 * self.element.bytes() as u64
    }
}

/// The relation of a source to the source that it reads from.
pub enum View<'a> {
    /// No other source: it holds its rows itself.
    Own,
    /// These samples of another source, in this order.
    Subset(&'a dyn Source, &'a [usize]),
    /// Every sample of another source, transformed by a row map.
    Mapped(&'a dyn Source, &'a RowMap<'a>),
    /// A transform that exists in this process only.
    Opaque,
}

/// Data that can be read repeatedly, by row range.
///
/// The grid of a pass, not the source, determines the row ranges; a source only returns them. Implementations are
/// slices in memory, memory-mapped files, streamed files and parsed tables.
pub trait Source: Sync {
    /// The shape, which is constant.
    fn shape(&self) -> &Shape;

    /// The source that this one reads from; none by default.
    fn view(&self) -> View<'_> {
        View::Own
    }

    /// The name of a feature, if features have names; a view has the names of its source.
    fn feature_name(&self, feature: usize) -> Option<String> {
        match self.view() {
            View::Subset(of, _) | View::Mapped(of, _) => of.feature_name(feature),
            View::Own | View::Opaque => None,
        }
    }

    /// Hint that these samples will be read one by one; a source with remote rows fetches them together.
    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        let _ = samples;
        Ok(())
    }

    /// Hint at the start of a pass: `n_threads` threads visit these row ranges, each sequentially, and a thread that
    /// has finished a range takes the next one in order. It replaces the previous hint. A source may use it to read
    /// ahead.
    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        let _ = (parts, n_threads);
    }

    /// Bytes of buffers that this source allocates for blocks on this many threads, without the data themselves.
    fn buffer_bytes(&self, threads: usize) -> u64 {
        let _ = threads;
        0
    }

    /// Calls `visit` with the given rows as one block, borrowed for the time of the call.
    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()>;
}

/// One sample as f64 values.
pub(crate) fn read_sample(source: &dyn Source, index: usize) -> Result<Vec<f64>> {
    let mut sample = memory::filled(source.shape().features, 0.0);
    source.visit(index..index + 1, &mut |block| {
        block.read_row(0, &mut sample);
        Ok(())
    })?;
    Ok(sample)
}
