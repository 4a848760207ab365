//! Some consecutive frames of a clip as a source of their own.

use std::ops::Range;

use steradian::{Block, Error, Result, Shape, Source};

/// The frames from one to before another.
pub struct FrameRange<'a> {
    source: &'a dyn Source,
    first: usize,
    shape: Shape,
}

impl<'a> FrameRange<'a> {
    /// Fails when the frames are not all there.
    pub fn new(source: &'a dyn Source, frames: Range<usize>) -> Result<Self> {
        let shape = source.shape().clone();
        if frames.start >= frames.end || frames.end > shape.samples {
            return Err(Error::invalid_argument(format!(
                "frames {}:{} are asked for, but the clip has {}; give A:B with A below B and B at most {}",
                frames.start, frames.end, shape.samples, shape.samples
            )));
        }
        Ok(Self { source, first: frames.start, shape: Shape { samples: frames.len(), ..shape } })
    }
}

impl Source for FrameRange<'_> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        let shifted: Vec<_> = parts.iter().map(|part| self.first + part.start..self.first + part.end).collect();
        self.source.advise_access(&shifted, n_threads);
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        self.source.buffer_bytes(threads)
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let (from, to) = (self.first + rows.start, self.first + rows.end);
        self.source.visit(from..to, &mut |block| visit(Block::new(rows.start, block.data())))
    }
}
