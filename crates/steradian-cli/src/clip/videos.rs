//! Videos of separated frames: backgrounds, foreground and overlay; folders of images if ffmpeg is not available.

use steradian::Result;
use steradian_io::{Clip, Color, MovieWriter, StagedDir};

use super::frame_renderer::RenderedFrame;
use crate::encode_image::png;
use crate::files::OutputFolder;

/// Frames per second if the clip has no frame rate.
const DEFAULT_RATE: f64 = 25.0;
/// Tint of the foreground: an orange that color-blind readers can distinguish.
pub const TINT: [u32; 3] = [255, 96, 0];

/// The three videos of a clip.
pub struct Movies {
    backgrounds: Movie,
    foreground: Movie,
    overlay: Movie,
}

/// One video, or a folder of its frames.
enum Movie {
    Video(MovieWriter),
    Images(StagedDir, (usize, usize), Color),
}

impl Movies {
    /// Creates the three videos; backgrounds and foreground have the pixel format `color`.
    pub fn begin(folder: &OutputFolder, clip: &Clip, color: Color) -> Result<Self> {
        let videos = MovieWriter::available();
        let begin = |name: &str, color: Color| -> Result<Movie> {
            let rate = clip.rate().unwrap_or(DEFAULT_RATE);
            Ok(match videos {
                true => {
                    let path = folder.file(&format!("{name}.mp4"));
                    Movie::Video(MovieWriter::create(path, clip.size(), rate, color)?)
                }
                false => Movie::Images(StagedDir::create(folder.file(name))?, clip.size(), color),
            })
        };
        Ok(Self {
            backgrounds: begin("backgrounds", color)?,
            foreground: begin("foreground", color)?,
            overlay: begin("overlay", Color::Rgb)?,
        })
    }

    /// Adds a frame to each video.
    pub fn add(&mut self, number: u64, rendered: &RenderedFrame<'_>) -> Result<()> {
        self.backgrounds.add(number, &rendered.background)?;
        self.foreground.add(number, &foreground(rendered))?;
        self.overlay.add(number, &overlay(rendered))
    }

    /// Completes the three files without renaming them into place.
    pub fn complete(&mut self) -> Result<()> {
        [&mut self.backgrounds, &mut self.foreground, &mut self.overlay].into_iter().try_for_each(Movie::complete)
    }

    /// Renames the three files into place.
    pub fn finish(self) -> Result<()> {
        [self.backgrounds, self.foreground, self.overlay].into_iter().try_for_each(Movie::finish)
    }
}

impl Movie {
    fn add(&mut self, number: u64, pixels: &[u8]) -> Result<()> {
        match self {
            Self::Video(video) => video.add(pixels),
            Self::Images(folder, size, color) => folder.file(&format!("{number:06}.png"), &png(pixels, *size, *color)?),
        }
    }

    fn complete(&mut self) -> Result<()> {
        match self {
            Self::Video(video) => video.complete(),
            // Each image was written when it was added.
            Self::Images(..) => Ok(()),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Video(video) => video.finish(),
            Self::Images(folder, ..) => folder.finish(),
        }
    }
}

/// The frame inside the mask, black outside.
fn foreground(rendered: &RenderedFrame<'_>) -> Vec<u8> {
    let pixels = rendered.frame.chunks(rendered.color.channels()).zip(rendered.mask);
    pixels
        .flat_map(|(pixel, &is_foreground)| pixel.iter().map(move |&level| if is_foreground { level } else { 0 }))
        .collect()
}

/// The frame in color, tinted inside the mask.
fn overlay(rendered: &RenderedFrame<'_>) -> Vec<u8> {
    let pixel = |(pixel, &is_foreground): (&[u8], &bool)| -> [u8; 3] {
        let levels = std::array::from_fn(|part| pixel[part % pixel.len()]);
        if is_foreground {
            std::array::from_fn(|part| ((u32::from(levels[part]) + TINT[part]) / 2) as u8)
        } else {
            levels
        }
    };
    rendered.frame.chunks(rendered.color.channels()).zip(rendered.mask).flat_map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gray_and_color_are_masked_and_tinted_equally() {
        let mask = [true, false];
        let gray = RenderedFrame {
            color: Color::Gray,
            frame: (&[9, 70][..]).into(),
            background: (&[][..]).into(),
            mask: &mask,
        };
        let levels = [9, 9, 9, 70, 70, 70];
        let rgb =
            RenderedFrame { color: Color::Rgb, frame: (&levels[..]).into(), background: (&[][..]).into(), mask: &mask };
        assert_eq!(foreground(&gray), [9, 0]);
        assert_eq!(foreground(&rgb), [9, 9, 9, 0, 0, 0]);
        assert_eq!(overlay(&gray), [132, 52, 4, 70, 70, 70]);
        assert_eq!(overlay(&rgb), overlay(&gray));
    }
}
