//! Training frames of a scene, in memory.

use std::borrow::Cow;

use steradian::{Block, BlockData, Error, Local, Result, SliceSource, Source};

/// The most frames a scene is learnt from, evenly spread over those given. A scene of three components and a few numbers
/// for each pixel does not get better from more of them, and 400 frames of 320 x 240 take 31 MB.
pub const TRAINING_FRAMES: usize = 400;

/// Some frames of a clip.
pub(crate) struct Training {
    /// Frame after frame.
    pub(crate) data: Vec<u8>,
    pub(crate) frames: usize,
    pub(crate) pixels: usize,
    pub(crate) size: (usize, usize),
    /// Which of the clip's frames these are.
    pub(crate) taken: Vec<bool>,
}

impl Training {
    /// Reads at most [`TRAINING_FRAMES`] of them.
    pub(crate) fn read(source: &dyn Source, runner: &Local) -> Result<Self> {
        let alone = "a clip of 1 frame has no background: what stays and what moves is told by comparing frames; give more, or apply \
                     an earlier model with --model";
        Self::at_most(TRAINING_FRAMES, alone, source, runner)
    }

    /// Reads all of them: for collections that are small by nature.
    pub(crate) fn read_all(source: &dyn Source, runner: &Local) -> Result<Self> {
        let alone = "1 picture says nothing of its shadows, which are told by comparing lights; give more pictures of the same face";
        Self::at_most(usize::MAX, alone, source, runner)
    }

    /// Refuses fewer than two frames in these words.
    fn at_most(most: usize, alone: &str, source: &dyn Source, runner: &Local) -> Result<Self> {
        let shape = source.shape().clone();
        let size = image_size(source)?;
        let count = shape.samples.min(most);
        if count < 2 {
            return Err(Error::invalid_data(alone));
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

    /// Whether no frame differs from another.
    pub(crate) fn all_equal(&self) -> bool {
        (1..self.frames).all(|i| self.frame(i) == self.frame(0))
    }

    /// Some of these frames.
    pub(crate) fn select(&self, frames: Vec<usize>) -> Self {
        let data = frames.iter().flat_map(|&frame| self.frame(frame)).copied().collect();
        Self { data, frames: frames.len(), pixels: self.pixels, size: self.size, taken: self.taken.clone() }
    }

    /// One frame.
    pub(crate) fn frame(&self, frame: usize) -> &[u8] {
        &self.data[frame * self.pixels..(frame + 1) * self.pixels]
    }

    /// These bytes as samples, of the same shape as the frames.
    pub(crate) fn samples<'a>(&self, data: &'a [u8]) -> Result<SliceSource<'a, u8>> {
        SliceSource::new(data, self.frames, self.pixels)?.with_image(self.size.0, self.size.1)
    }
}

/// Frames of a block that are read at a time: a few megabytes.
pub(crate) fn rows_of_blocks(pixels: usize) -> usize {
    ((4 << 20) / pixels.max(1)).clamp(1, 64)
}

/// Height and width of the frames; fails when the samples are no frames of bytes.
pub(crate) fn image_size(source: &dyn Source) -> Result<(usize, usize)> {
    let shape = source.shape();
    match (shape.image, shape.element) {
        (Some(size), steradian::ElementType::U8) => Ok(size),
        _ => Err(Error::invalid_data(format!(
            "{} samples of {} numbers ({}) are no clip; a clip is frames of uint8 with a height and a width",
            shape.samples, shape.features, shape.element
        ))),
    }
}

/// A frame of a block, in place where its pixels lie side by side.
pub fn frame_pixels<'a>(block: &Block<'a>, row: usize) -> Result<Cow<'a, [u8]>> {
    let BlockData::U8(rows) = block.data() else {
        return Err(Error::invalid_data("frames of a clip are bytes"));
    };
    Ok(match rows.row(row, 0, rows.columns()) {
        Some(pixels) => Cow::Borrowed(pixels),
        None => Cow::Owned((0..rows.columns()).map(|pixel| rows.get(row, pixel)).collect()),
    })
}
