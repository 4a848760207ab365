//! Limits of decoding: total size of the frames, size of one image, time without output of a decoder.
//!
//! A file of a few kilobytes can declare frames of gigabytes. Sizes are compared with these limits before memory is
//! allocated, where a header declares them, and while frames arrive.

use std::path::Path;
use std::time::Duration;

use steradian::{Error, Result};

/// Largest number of pixels of a frame of a video: 8192 x 8192.
#[cfg(feature = "video")]
pub(crate) const MAX_PIXELS: usize = 1 << 26;

/// Largest size of a decoded image in bytes: 8192 x 8192 pixels of three bytes.
#[cfg(feature = "images")]
pub(crate) const MAX_IMAGE_BYTES: u64 = 192 << 20;

/// Largest ratio of the sizes of an image decoded and in its file. No supported format reaches it: deflate has at most
/// 1032, LZW about 2700, JPEG about 1500. So a header that declares more is corrupt.
#[cfg(feature = "images")]
pub(crate) const MAX_IMAGE_RATIO: u64 = 4096;

/// Limits of the decoding of a clip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClipLimits {
    /// Largest total size of the decoded frames in bytes, including frames that are decoded and not selected, before
    /// resizing. Arrays are read in place and have no limit.
    pub max_decoded: u64,
    /// Longest time without output of the decoder of a video.
    pub inactivity: Duration,
}

impl ClipLimits {
    /// Default of [`ClipLimits::max_decoded`]: 16 GiB, about 8000 gray frames of 1920 x 1080.
    pub const MAX_DECODED: u64 = 16 << 30;
    /// Default of [`ClipLimits::inactivity`]: a minute.
    pub const INACTIVITY: Duration = Duration::from_secs(60);
    /// The limits of [`ClipLimits::default`].
    pub const DEFAULT: Self = Self { max_decoded: Self::MAX_DECODED, inactivity: Self::INACTIVITY };
}

impl Default for ClipLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The total size of the frames of a clip that were decoded so far.
pub(crate) struct DecodedTotal<'a> {
    path: &'a Path,
    limit: u64,
    bytes: u64,
    frames: u64,
}

#[cfg_attr(not(any(feature = "images", feature = "video", test)), expect(dead_code, reason = "only decoders count"))]
impl<'a> DecodedTotal<'a> {
    /// No frame of the clip at a path.
    pub(crate) fn new(path: &'a Path, limits: &ClipLimits) -> Self {
        Self { path, limit: limits.max_decoded, bytes: 0, frames: 0 }
    }

    /// Adds frames of this total size; fails if all frames together exceed the limit.
    pub(crate) fn add(&mut self, frames: u64, bytes: u64) -> Result<()> {
        (self.frames, self.bytes) = (self.frames.saturating_add(frames), self.bytes.saturating_add(bytes));
        if self.bytes <= self.limit {
            return Ok(());
        }
        let (path, frames, decoded, limit) = (self.path.to_path_buf(), self.frames, self.bytes, self.limit);
        Err(Error::OverDecoded { path, frames, decoded, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_compared_with_the_limit() {
        let limits = ClipLimits { max_decoded: 100, ..ClipLimits::default() };
        let mut total = DecodedTotal::new(Path::new("a.mp4"), &limits);
        total.add(2, 99).unwrap();
        total.add(1, 1).unwrap();
        let error = total.add(1, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.mp4: 4 frames are 101 bytes when decoded, which exceeds the limit of 100 bytes"
        );
        assert!(total.add(u64::MAX, u64::MAX).is_err(), "no overflow");
    }
}
