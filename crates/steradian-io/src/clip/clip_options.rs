//! Options of a clip: which frames are read, at what size, and whether in color.

use std::path::Path;

use steradian::{Error, Result};

use crate::clip::image::Color;

/// Which frames of a clip are read, and at what size.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipOptions {
    /// The first frame, from 0.
    pub from: usize,
    /// The frame before which to stop; the clip's end when absent.
    pub to: Option<usize>,
    /// One frame of so many.
    pub every: usize,
    /// The factor of both sides, above 0 and at most 1.
    pub scale: f64,
    /// Keep colours, too.
    pub color: bool,
}

impl Default for ClipOptions {
    fn default() -> Self {
        Self { from: 0, to: None, every: 1, scale: 1.0, color: false }
    }
}

impl ClipOptions {
    /// Fails when the options contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        if self.every == 0 {
            return Err(Error::invalid_argument("--every 0 reads no frame; give 1 for all frames or more"));
        }
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            return Err(Error::invalid_argument(format!("--scale {} is not above 0 and at most 1", self.scale)));
        }
        match self.to {
            Some(to) if to <= self.from => Err(Error::invalid_argument(format!(
                "--from {} --to {to} holds no frame; frames count from 0, and --to is the first that is left out",
                self.from
            ))),
            _ => Ok(()),
        }
    }

    /// Whether a frame is wanted.
    pub(crate) fn takes(&self, frame: usize) -> bool {
        frame >= self.from && !self.past(frame) && (frame - self.from).is_multiple_of(self.every)
    }

    /// Whether no frame from this one on is wanted.
    pub(crate) fn past(&self, frame: usize) -> bool {
        self.to.is_some_and(|to| frame >= to)
    }

    /// Fails when the options name frames beyond the last of the clip.
    pub(crate) fn require_inside(&self, path: &Path, frames: usize) -> Result<()> {
        let beyond = |option: &str, value: usize| {
            Err(Error::invalid_argument(format!(
                "{}: {option} {value} lies outside the clip, which has {frames} frames; give at most {}",
                path.display(),
                if option == "--from" { frames.saturating_sub(1) } else { frames }
            )))
        };
        match self.to {
            _ if self.from >= frames => beyond("--from", self.from),
            Some(to) if to > frames => beyond("--to", to),
            _ => Ok(()),
        }
    }

    /// How each frame is kept: as gray levels, which are first, and perhaps in colour.
    pub(crate) fn views(&self) -> &'static [Color] {
        if self.color { &[Color::Gray, Color::Rgb] } else { &[Color::Gray] }
    }

    /// The size that frames of this size are read at.
    pub(crate) fn size(&self, (height, width): (usize, usize)) -> (usize, usize) {
        let scaled = |side: usize| ((side as f64 * self.scale).round() as usize).max(1);
        (scaled(height), scaled(width))
    }
}
