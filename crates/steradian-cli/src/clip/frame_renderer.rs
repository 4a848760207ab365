//! Frames and backgrounds for display: in gray, or in the colors of the clip.

use std::borrow::Cow;

use steradian::{Local, Result, Source};
use steradian_clips::{Palette, PaletteSums, Separated};
use steradian_io::{Clip, Color};

use super::separate_frames::separate_all;

/// Frames that the colours of the empty scene are told from, at most; they lie evenly in the clip.
const PALETTE_FRAMES: usize = 200;

/// How pictures of a clip are shown.
pub struct FrameRenderer(Option<Palette>);

/// A frame and what was taken out of it, as they are shown.
pub struct RenderedFrame<'a> {
    /// How pixels of frame and background are stored.
    pub color: Color,
    /// The frame.
    pub frame: Cow<'a, [u8]>,
    /// The empty scene at the light of the frame.
    pub background: Cow<'a, [u8]>,
    /// Where something else is seen.
    pub mask: &'a [bool],
}

impl FrameRenderer {
    /// In colour where the clip was read so, which takes a look at some of its frames; else in gray.
    pub fn of(clip: &Clip, runner: &Local, separate: impl Fn(usize, &[u8]) -> Separated + Sync) -> Result<Self> {
        if clip.colors(0).is_none() {
            return Ok(Self(None));
        }
        let step = clip.shape().samples.div_ceil(PALETTE_FRAMES);
        let mut sums = PaletteSums::new(clip.shape().features);
        let some = |frame: usize| frame.is_multiple_of(step);
        separate_all(
            clip,
            "colours",
            some,
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

    /// How pixels are stored.
    pub fn color(&self) -> Color {
        if self.0.is_some() { Color::Rgb } else { Color::Gray }
    }

    /// A gray background as it is shown.
    pub fn background<'a>(&self, gray: &'a [u8]) -> Cow<'a, [u8]> {
        self.0.as_ref().map_or(Cow::Borrowed(gray), |palette| Cow::Owned(palette.colored(gray)))
    }

    /// A frame, which is `gray` in gray, and its parts as they are shown.
    pub fn shown<'a>(&self, clip: &Clip, frame: usize, gray: &'a [u8], parts: &'a Separated) -> RenderedFrame<'a> {
        RenderedFrame {
            color: self.color(),
            frame: clip.colors(frame).map_or(Cow::Borrowed(gray), Cow::Owned),
            background: self.background(&parts.background),
            mask: &parts.mask,
        }
    }
}
