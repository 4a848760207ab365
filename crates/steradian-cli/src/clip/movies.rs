//! What was taken apart as videos: backgrounds, foreground, and both; as folders of pictures where videos cannot be made.

use steradian::Result;
use steradian_clips::Separated;
use steradian_io::{Clip, Color, MovieWriter, WholeFolder};

use crate::files::OutputFolder;
use crate::pictures::{gray_png, rgb_png};

/// Frames a second where the clip does not say.
const RATE: f64 = 25.0;
/// What the foreground is tinted with: an orange that is seen on gray by all eyes.
pub const TINT: [u32; 3] = [255, 96, 0];

/// The three videos of a clip.
pub struct Movies {
    backgrounds: Movie,
    foreground: Movie,
    overlay: Movie,
}

enum Movie {
    Video(MovieWriter),
    Pictures(WholeFolder, (usize, usize), Color),
}

impl Movies {
    /// Starts all three.
    pub fn begin(folder: &OutputFolder, clip: &Clip) -> Result<Self> {
        let videos = MovieWriter::available();
        let begin = |name: &str, color: Color| -> Result<Movie> {
            let rate = clip.rate().unwrap_or(RATE);
            Ok(match videos {
                true => {
                    let path = folder.file(&format!("{name}.mp4"));
                    Movie::Video(MovieWriter::create(path, clip.size(), rate, color)?)
                }
                false => Movie::Pictures(WholeFolder::create(folder.file(name))?, clip.size(), color),
            })
        };
        Ok(Self {
            backgrounds: begin("backgrounds", Color::Gray)?,
            foreground: begin("foreground", Color::Gray)?,
            overlay: begin("overlay", Color::Rgb)?,
        })
    }

    /// Adds a frame to each.
    pub fn add(&mut self, number: u64, frame: &[u8], parts: &Separated) -> Result<()> {
        self.backgrounds.add(number, &parts.background)?;
        self.foreground.add(number, &foreground(frame, &parts.mask))?;
        self.overlay.add(number, &overlay(frame, &parts.mask))
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
                let png = if *color == Color::Gray { gray_png(pixels, *size)? } else { rgb_png(pixels, *size)? };
                folder.file(&format!("{number:06}.png"), &png)
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
fn foreground(frame: &[u8], mask: &[bool]) -> Vec<u8> {
    frame.iter().zip(mask).map(|(&level, &moving)| if moving { level } else { 0 }).collect()
}

/// The frame, tinted where the mask is.
fn overlay(frame: &[u8], mask: &[bool]) -> Vec<u8> {
    let pixel = |(&level, &moving): (&u8, &bool)| match moving {
        true => TINT.map(|tint| ((u32::from(level) + tint) / 2) as u8),
        false => [level; 3],
    };
    frame.iter().zip(mask).flat_map(pixel).collect()
}
