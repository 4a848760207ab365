//! Separated frames as videos: backgrounds, foreground, and both; as folders of images where videos cannot be written.

use steradian::Result;
use steradian_io::{Clip, Color, MovieWriter, StagedDir};

use super::frame_renderer::RenderedFrame;
use crate::encode_image::png;
use crate::files::OutputFolder;

/// Frames a second where the clip does not say.
const RATE: f64 = 25.0;
/// What the foreground is tinted with: an orange that is seen by all eyes.
pub const TINT: [u32; 3] = [255, 96, 0];

/// The three videos of a clip.
pub struct Movies {
    backgrounds: Movie,
    foreground: Movie,
    overlay: Movie,
}

enum Movie {
    Video(MovieWriter),
    Pictures(StagedDir, (usize, usize), Color),
}

impl Movies {
    /// Starts all three: what is of the clip is stored as that is shown.
    pub fn begin(folder: &OutputFolder, clip: &Clip, color: Color) -> Result<Self> {
        let videos = MovieWriter::available();
        let begin = |name: &str, color: Color| -> Result<Movie> {
            let rate = clip.rate().unwrap_or(RATE);
            Ok(match videos {
                true => {
                    let path = folder.file(&format!("{name}.mp4"));
                    Movie::Video(MovieWriter::create(path, clip.size(), rate, color)?)
                }
                false => Movie::Pictures(StagedDir::create(folder.file(name))?, clip.size(), color),
            })
        };
        Ok(Self {
            backgrounds: begin("backgrounds", color)?,
            foreground: begin("foreground", color)?,
            overlay: begin("overlay", Color::Rgb)?,
        })
    }

    /// Adds a frame to each.
    pub fn add(&mut self, number: u64, shown: &RenderedFrame<'_>) -> Result<()> {
        self.backgrounds.add(number, &shown.background)?;
        self.foreground.add(number, &foreground(shown))?;
        self.overlay.add(number, &overlay(shown))
    }

    /// Ends all three; only their names are missing then.
    pub fn complete(&mut self) -> Result<()> {
        [&mut self.backgrounds, &mut self.foreground, &mut self.overlay].into_iter().try_for_each(Movie::complete)
    }

    /// Gives all three their names.
    pub fn finish(self) -> Result<()> {
        [self.backgrounds, self.foreground, self.overlay].into_iter().try_for_each(Movie::finish)
    }
}

impl Movie {
    fn add(&mut self, number: u64, pixels: &[u8]) -> Result<()> {
        match self {
            Self::Video(video) => video.add(pixels),
            Self::Pictures(folder, size, color) => {
                folder.file(&format!("{number:06}.png"), &png(pixels, *size, *color)?)
            }
        }
    }

    fn complete(&mut self) -> Result<()> {
        match self {
            Self::Video(video) => video.complete(),
            // Each of its pictures was written as it came.
            Self::Pictures(..) => Ok(()),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Video(video) => video.finish(),
            Self::Pictures(folder, ..) => folder.finish(),
        }
    }
}

/// The frame where the mask is, black elsewhere.
fn foreground(shown: &RenderedFrame<'_>) -> Vec<u8> {
    let pixels = shown.frame.chunks(shown.color.channels()).zip(shown.mask);
    pixels.flat_map(|(pixel, &moving)| pixel.iter().map(move |&level| if moving { level } else { 0 })).collect()
}

/// The frame in colour, tinted where the mask is.
fn overlay(shown: &RenderedFrame<'_>) -> Vec<u8> {
    let pixel = |(pixel, &moving): (&[u8], &bool)| -> [u8; 3] {
        let levels = std::array::from_fn(|part| pixel[part % pixel.len()]);
        if moving { std::array::from_fn(|part| ((u32::from(levels[part]) + TINT[part]) / 2) as u8) } else { levels }
    };
    shown.frame.chunks(shown.color.channels()).zip(shown.mask).flat_map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gray_and_colour_are_masked_and_tinted_alike() {
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
