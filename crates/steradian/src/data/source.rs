//! The source trait: data of known shape whose rows can be read repeatedly, by row range.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::block::Block;
use super::element::ElementType;
use super::row_map::RowMap;
use crate::error::Result;

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

/// How a source is made of another one.
pub enum View<'a> {
    /// It is not: its rows are its own.
    Own,
    /// These samples of another source, in this order.
    Subset(&'a dyn Source, &'a [usize]),
    /// Every sample of another source, mapped by itself.
    Mapped(&'a dyn Source, &'a RowMap<'a>),
    /// In a way that exists in this process only.
    Opaque,
}

/// Data that can be read again and again, any rows at a time.
///
/// The grid of a pass, not the source, decides which rows come together: a source only has to serve them. Memory, a
/// mapped file and a parsed table differ in nothing else.
pub trait Source: Sync {
    /// The shape; it never changes.
    fn shape(&self) -> &Shape;

    /// How this source is made of another one; by default it is not.
    fn view(&self) -> View<'_> {
        View::Own
    }

    /// The name of a feature, where features have names; a view has those of its source.
    fn feature_name(&self, feature: usize) -> Option<String> {
        match self.view() {
            View::Subset(of, _) | View::Mapped(of, _) => of.feature_name(feature),
            View::Own | View::Opaque => None,
        }
    }

    /// Says that these samples will be asked for one by one: where rows lie far away, they come together.
    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        let _ = samples;
        Ok(())
    }

    /// Says that a pass begins: `n_threads` threads visit these parts of the rows, each front to back, and take the next part
    /// in order when they are done with one. A source that reads ahead goes by it; it may be ignored, and it ends what
    /// was announced before.
    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        let _ = (parts, n_threads);
    }

    /// Memory that serving blocks to this many threads takes, the data themselves apart where they lie in memory.
    fn buffer_bytes(&self, threads: usize) -> u64 {
        let _ = threads;
        0
    }

    /// Hands the given rows to `visit` as one block, lent for the time of the call.
    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()>;
}

/// One sample as f64 values.
pub(crate) fn read_sample(source: &dyn Source, index: usize) -> Result<Vec<f64>> {
    let mut sample = vec![0.0; source.shape().features];
    source.visit(index..index + 1, &mut |block| {
        block.read_row(0, &mut sample);
        Ok(())
    })?;
    Ok(sample)
}
