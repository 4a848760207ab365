//! Options of a clip: frame range, stride, size, color and limits of decoding.

use std::path::Path;

use steradian::{Error, Result};

use crate::clip::clip_limits::ClipLimits;
use crate::clip::image::Color;

/// Selection, size and color of the frames of a clip, and limits of decoding them.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipOptions {
    /// Index of the first frame, from 0.
    pub start: usize,
    /// Index of the frame after the last one; `None` is the end of the clip.
    pub end: Option<usize>,
    /// Distance between two frames that are read: 1 reads all frames, 2 every second one.
    pub stride: usize,
    /// Factor for height and width, in (0, 1].
    pub resize: f64,
    /// True to decode colors in addition to gray levels.
    pub color: bool,
    /// Limits of decoding.
    pub limits: ClipLimits,
}

impl Default for ClipOptions {
    fn default() -> Self {
        Self { start: 0, end: None, stride: 1, resize: 1.0, color: false, limits: ClipLimits::default() }
    }
}

impl ClipOptions {
    /// Fails if an option is out of range or the range of frames is empty.
    pub(crate) fn check(&self) -> Result<()> {
        if self.stride == 0 {
            return Err(Error::invalid_parameter("stride", "stride must be at least 1, got 0"));
        }
        if !(self.resize > 0.0 && self.resize <= 1.0) {
            let problem = format!("resize factor must be in (0, 1], got {}", self.resize);
            return Err(Error::invalid_parameter("resize", problem));
        }
        match self.end {
            Some(end) if end <= self.start => Err(Error::invalid_parameter(
                "end",
                format!("empty frame range {}..{end} (end is exclusive)", self.start),
            )),
            _ => Ok(()),
        }
    }

    /// True if a frame is selected.
    pub(crate) fn selects(&self, frame: usize) -> bool {
        frame >= self.start && !self.is_past_end(frame) && (frame - self.start).is_multiple_of(self.stride)
    }

    /// True if neither a frame nor any after it is selected.
    pub(crate) fn is_past_end(&self, frame: usize) -> bool {
        self.end.is_some_and(|end| frame >= end)
    }

    /// Fails if the range of frames exceeds a clip of `frames` frames.
    pub(crate) fn check_range(&self, path: &Path, frames: usize) -> Result<()> {
        let (parameter, problem) = match self.end {
            _ if self.start >= frames => {
                ("start", format!("start frame {} is outside the clip, which has {frames} frames", self.start))
            }
            Some(end) if end > frames => {
                ("end", format!("end frame {end} exceeds the clip, which has {frames} frames"))
            }
            _ => return Ok(()),
        };
        Err(Error::invalid_parameter(parameter, format!("{}: {problem}", path.display())))
    }

    /// The color formats in which each frame is stored: gray levels first.
    pub(crate) fn formats(&self) -> &'static [Color] {
        if self.color { &[Color::Gray, Color::Rgb] } else { &[Color::Gray] }
    }

    /// Height and width after resizing.
    pub(crate) fn output_dimensions(&self, (height, width): (usize, usize)) -> (usize, usize) {
        let resized = |side: usize| ((side as f64 * self.resize).round() as usize).max(1);
        (resized(height), resized(width))
    }
}
