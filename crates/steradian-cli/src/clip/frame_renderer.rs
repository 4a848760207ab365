//! Frames and backgrounds for display: in gray, or in the colors of the clip.

use std::borrow::Cow;

use steradian::{Local, Result, Source};
use steradian_clips::{Palette, PaletteSums, Separated};
use steradian_io::{Clip, Color};

use super::separate_frames::separate_all;

/// Largest number of frames that the colors of the background are estimated from; they are evenly spaced.
const PALETTE_FRAMES: usize = 200;

/// Conversion of frames and backgrounds to the colors of the clip, or to gray.
pub struct FrameRenderer(Option<Palette>);

/// A frame, its background and its foreground mask, for display.
pub struct RenderedFrame<'a> {
    /// Pixel format of frame and background.
    pub color: Color,
    /// The frame.
    pub frame: Cow<'a, [u8]>,
    /// The background under the illumination of the frame.
    pub background: Cow<'a, [u8]>,
    /// The foreground mask.
    pub mask: &'a [bool],
}

impl FrameRenderer {
    /// A renderer in color if the clip has colors, which are estimated from some of its frames; otherwise in gray.
    pub fn of(clip: &Clip, runner: &Local, separate: impl Fn(usize, &[u8]) -> Separated + Sync) -> Result<Self> {
        if clip.colors(0).is_none() {
            return Ok(Self(None));
        }
        let step = clip.shape().samples.div_ceil(PALETTE_FRAMES);
        let mut sums = PaletteSums::new(clip.shape().features);
        let is_sampled = |frame: usize| frame.is_multiple_of(step);
        separate_all(
            clip,
            "colors",
            is_sampled,
            runner,
            separate,
            |_| Ok(()),
            |frame, _, parts, ()| {
                clip.colors(frame).iter().for_each(|colors| sums.add(colors, parts));
                Ok(())
            },
        )?;
        Ok(Self(Some(sums.palette())))
    }

    /// Pixel format of the output.
    pub fn color(&self) -> Color {
        if self.0.is_some() { Color::Rgb } else { Color::Gray }
    }

    /// A gray background, converted for display.
    pub fn background<'a>(&self, gray: &'a [u8]) -> Cow<'a, [u8]> {
        self.0.as_ref().map_or(Cow::Borrowed(gray), |palette| Cow::Owned(palette.colored(gray)))
    }

    /// A frame and its parts for display; `gray` is the frame in gray levels.
    pub fn render<'a>(&self, clip: &Clip, frame: usize, gray: &'a [u8], parts: &'a Separated) -> RenderedFrame<'a> {
        RenderedFrame {
            color: self.color(),
            frame: clip.colors(frame).map_or(Cow::Borrowed(gray), Cow::Owned),
            background: self.background(&parts.background),
            mask: &parts.mask,
        }
    }
}
