//! Videos of separated frames: backgrounds, foreground and overlay; folders of images if ffmpeg is not available.

use steradian::Result;
use steradian_io::{Clip, Color, MovieWriter, OutputFolder};

use super::frame_renderer::RenderedFrame;
use crate::encode_image::png;

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
    Images { name: String, size: (usize, usize), color: Color },
}

impl Movies {
    /// Creates the three videos in a folder, with names that start with `within`; backgrounds and foreground have the
    /// pixel format `color`.
    pub fn begin(folder: &OutputFolder, within: &str, clip: &Clip, color: Color) -> Result<Self> {
        let videos = MovieWriter::available()?;
        let begin = |name: &str, color: Color| -> Result<Movie> {
            let rate = clip.rate().unwrap_or(DEFAULT_RATE);
            Ok(match videos {
                true => {
                    let file = folder.file(&format!("{within}{name}.mp4"))?;
                    Movie::Video(MovieWriter::begin(file, clip.dimensions(), rate, color)?)
                }
                false => Movie::Images { name: format!("{within}{name}"), size: clip.dimensions(), color },
            })
        };
        Ok(Self {
            backgrounds: begin("backgrounds", color)?,
            foreground: begin("foreground", color)?,
            overlay: begin("overlay", Color::Rgb)?,
        })
    }

    /// Adds a frame to each video.
    pub fn add(&mut self, folder: &OutputFolder, number: u64, rendered: &RenderedFrame<'_>) -> Result<()> {
        self.backgrounds.add(folder, number, &rendered.background)?;
        self.foreground.add(folder, number, &foreground(rendered))?;
        self.overlay.add(folder, number, &overlay(rendered))
    }

    /// Completes the three files.
    pub fn finish(self) -> Result<()> {
        [self.backgrounds, self.foreground, self.overlay].into_iter().try_for_each(Movie::finish)
    }
}

impl Movie {
    fn add(&mut self, folder: &OutputFolder, number: u64, pixels: &[u8]) -> Result<()> {
        match self {
            Self::Video(video) => video.add(pixels),
            Self::Images { name, size, color } => {
                folder.write(&format!("{name}/{number:06}.png"), &png(pixels, *size, *color)?)
            }
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Video(video) => video.finish(),
            // Each image was written when it was added.
            Self::Images { .. } => Ok(()),
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
