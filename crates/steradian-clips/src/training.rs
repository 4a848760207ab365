//! Training frames of a background model, in memory.

use std::borrow::Cow;

use steradian::data::{Block, BlockData};
use steradian::{Error, Local, Result, SliceSource, Source};

/// Largest number of training frames, evenly spread over the clip. More frames do not improve a background model with
/// three components and a few parameters per pixel, and 400 frames of 320 x 240 pixels take 31 MB.
pub const TRAINING_FRAMES: usize = 400;

/// Training frames of a clip.
pub(crate) struct Training {
    /// Gray levels, frames x pixels, row-major.
    pub(crate) data: Vec<u8>,
    pub(crate) frames: usize,
    pub(crate) pixels: usize,
    pub(crate) size: (usize, usize),
    /// Mask of the training frames within the clip.
    pub(crate) taken: Vec<bool>,
}

impl Training {
    /// Reads at most [`TRAINING_FRAMES`] frames. Cost: one pass.
    pub(crate) fn read(source: &dyn Source, runner: &Local) -> Result<Self> {
        let problem = "background estimation requires at least 2 frames, got 1; pass more frames or an existing model";
        Self::at_most(TRAINING_FRAMES, problem, source, runner)
    }

    /// Reads all frames. Cost: one pass.
    pub(crate) fn read_all(source: &dyn Source, runner: &Local) -> Result<Self> {
        let problem = "shadow removal requires at least 2 images of the same face, got 1; pass more images";
        Self::at_most(usize::MAX, problem, source, runner)
    }

    /// Reads at most `max_frames` frames; rejects a single frame with this problem.
    fn at_most(max_frames: usize, problem: &str, source: &dyn Source, runner: &Local) -> Result<Self> {
        let shape = source.shape().clone();
        let size = image_size(source)?;
        let count = shape.samples.min(max_frames);
        if count < 2 {
            return Err(Error::invalid_data(problem));
        }
        let mut taken = vec![false; shape.samples];
        (0..count).for_each(|i| taken[i * shape.samples / count] = true);
        let mut data = Vec::with_capacity(count * shape.features);
        runner.for_each_block("frames", source, rows_of_blocks(shape.features), |block| {
            for row in (0..block.rows()).filter(|row| taken[block.first() + row]) {
                data.extend_from_slice(&frame_pixels(block, row)?);
            }
            Ok(())
        })?;
        Ok(Self { data, frames: count, pixels: shape.features, size, taken })
    }

    /// True if all frames are equal.
    pub(crate) fn all_equal(&self) -> bool {
        (1..self.frames).all(|i| self.frame(i) == self.frame(0))
    }

    /// The frames with these indices.
    pub(crate) fn select(&self, frames: Vec<usize>) -> Self {
        let data = frames.iter().flat_map(|&frame| self.frame(frame)).copied().collect();
        Self { data, frames: frames.len(), pixels: self.pixels, size: self.size, taken: self.taken.clone() }
    }

    /// The gray levels of one frame.
    pub(crate) fn frame(&self, frame: usize) -> &[u8] {
        &self.data[frame * self.pixels..(frame + 1) * self.pixels]
    }

    /// Some u8 values as a source with the shape of the frames.
    pub(crate) fn samples<'a>(&self, data: &'a [u8]) -> Result<SliceSource<'a, u8>> {
        SliceSource::new(data, self.frames, self.pixels)?.with_image(self.size.0, self.size.1)
    }
}

/// Number of frames per block of a read: about 4 MiB.
pub(crate) fn rows_of_blocks(pixels: usize) -> usize {
    ((4 << 20) / pixels.max(1)).clamp(1, 64)
}

/// Height and width of the frames; rejects samples that are not uint8 images.
pub(crate) fn image_size(source: &dyn Source) -> Result<(usize, usize)> {
    let shape = source.shape();
    match (shape.image, shape.element) {
        (Some(size), steradian::data::ElementType::U8) => Ok(size),
        _ => Err(Error::invalid_data(format!(
            "{} samples of {} features ({}) are not a clip; use uint8 frames with a height and a width",
            shape.samples, shape.features, shape.element
        ))),
    }
}

/// A frame of a block; borrowed (zero-copy) if its pixels are contiguous.
pub fn frame_pixels<'a>(block: &Block<'a>, row: usize) -> Result<Cow<'a, [u8]>> {
    let BlockData::U8(rows) = block.data() else {
        return Err(Error::invalid_data("a clip requires uint8 frames"));
    };
    Ok(match rows.row(row, 0, rows.columns()) {
        Some(pixels) => Cow::Borrowed(pixels),
        None => Cow::Owned((0..rows.columns()).map(|pixel| rows.get(row, pixel)).collect()),
    })
}
