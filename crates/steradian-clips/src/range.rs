//! A range of consecutive frames of a clip as a source.

use std::ops::Range;

use steradian::data::{Block, Shape};
use steradian::{Error, Result, Source};

/// The frames of a clip from a first one to an exclusive end.
pub struct FrameRange<'a> {
    source: &'a dyn Source,
    first: usize,
    shape: Shape,
}

impl<'a> FrameRange<'a> {
    /// Rejects an empty range, and one that exceeds the clip.
    pub fn new(source: &'a dyn Source, frames: Range<usize>) -> Result<Self> {
        let shape = source.shape().clone();
        if frames.start >= frames.end || frames.end > shape.samples {
            let (start, end, count) = (frames.start, frames.end, shape.samples);
            let problem = if start >= end {
                format!("frame range {start}:{end} is empty (end is exclusive); use a start below the end")
            } else {
                format!(
                    "frame range {start}:{end} exceeds the clip, which has {count} frames; use an end up to {count}"
                )
            };
            return Err(Error::invalid_parameter("train", problem));
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
