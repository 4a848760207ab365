//! One image file as bytes, whatever it was stored as: gray levels, or red, green and blue.
//!
//! | stored | becomes |
//! |---|---|
//! | gray, 8 bits | itself |
//! | colour, read as gray | .299 R + .587 G + .114 B, the luma of television, which video decoders and most image tools use |
//! | 16 bits | the nearest of 256 levels |
//! | alpha | what it covers, seen before black |
//! | floating point | refused: nobody knows which number is white |

use std::path::Path;

use image::{DynamicImage, ImageReader};
use steradian::{Error, Result};

/// The end of a JPEG file; decoders fill up what is missing with gray and call it done.
const JPEG_END: [u8; 2] = [0xff, 0xd9];
/// How far from the end of a file a JPEG may end: some cameras append a few bytes.
const JPEG_TAIL: usize = 4096;

/// How a pixel is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// One byte.
    Gray,
    /// Red, green and blue.
    Rgb,
}

impl Color {
    /// Bytes of a pixel.
    pub fn channels(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
        }
    }
}

/// A picture of bytes, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
    /// How each pixel is stored.
    pub color: Color,
    /// The bytes of one pixel after the other.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// Height and width.
    pub fn size(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// Reads PNG, JPEG, BMP, PNM, TIFF or the first picture of a GIF, by content, as gray levels.
    pub fn read_gray(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_decoded(path, &decode(path)?, Color::Gray)
    }

    /// The pixels of a decoded image; the path is for the message.
    pub(crate) fn from_decoded(path: &Path, decoded: &DynamicImage, color: Color) -> Result<Self> {
        let pixels = match (color, decoded) {
            (Color::Gray, DynamicImage::ImageLuma8(image)) => Some(image.as_raw().clone()),
            (Color::Gray, _) => map_pixels(decoded, |rgb, alpha| covered(luma(rgb), alpha)),
            (Color::Rgb, _) => map_pixels(decoded, |rgb, alpha| rgb.map(|level| covered(level, alpha)))
                .map(<Vec<[u8; 3]>>::into_flattened),
        };
        let Some(pixels) = pixels else {
            return Err(Error::data(format!(
                "{}: the image holds floating-point numbers, which have no agreed white; save it with 8 or 16 bits",
                path.display()
            )));
        };
        Ok(Self { height: decoded.height() as usize, width: decoded.width() as usize, color, pixels })
    }

    /// The picture at another size that is no larger: each pixel is the mean of the area it covers.
    pub fn shrunk(&self, (height, width): (usize, usize)) -> Self {
        if (height, width) == self.size() {
            return self.clone();
        }
        let (down, across) = (spans(self.height, height), spans(self.width, width));
        let channels = self.color.channels();
        let mut pixels = Vec::with_capacity(height * width * channels);
        for rows in &down {
            for columns in &across {
                for channel in 0..channels {
                    let (mut sum, mut area) = (0.0, 0.0);
                    for &(y, tall) in rows {
                        for &(x, wide) in columns {
                            sum += tall * wide * f64::from(self.pixels[(y * self.width + x) * channels + channel]);
                            area += tall * wide;
                        }
                    }
                    pixels.push((sum / area).round() as u8);
                }
            }
        }
        Self { height, width, color: self.color, pixels }
    }
}

/// The image of a file, in the form that it was stored in.
pub(crate) fn decode(path: &Path) -> Result<DynamicImage> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let tail = &bytes[bytes.len().saturating_sub(JPEG_TAIL)..];
    if bytes.starts_with(&[0xff, 0xd8]) && !tail.windows(2).any(|pair| pair == JPEG_END) {
        return Err(Error::broken(path, "the JPEG image is cut short: its end is missing; copy it again"));
    }
    let reader =
        ImageReader::new(std::io::Cursor::new(&bytes)).with_guessed_format().map_err(|e| Error::io(path, e))?;
    if reader.format().is_none() {
        return Err(Error::broken(path, "this is no image that is read: PNG, JPEG, BMP, PGM, TIFF or GIF"));
    }
    reader.decode().map_err(|e| Error::broken(path, format!("the image cannot be decoded: {e}")))
}

/// What becomes of each pixel, given its colour and how much it covers; nothing where these are no bytes or words.
fn map_pixels<P>(image: &DynamicImage, pixel: impl Fn([u8; 3], u8) -> P) -> Option<Vec<P>> {
    const WHOLE: u8 = 255;
    Some(match image {
        DynamicImage::ImageLuma8(image) => image.pixels().map(|p| pixel([p.0[0]; 3], WHOLE)).collect(),
        DynamicImage::ImageLumaA8(image) => image.pixels().map(|p| pixel([p.0[0]; 3], p.0[1])).collect(),
        DynamicImage::ImageRgb8(image) => image.pixels().map(|p| pixel(p.0, WHOLE)).collect(),
        DynamicImage::ImageRgba8(image) => {
            image.pixels().map(|&image::Rgba([r, g, b, a])| pixel([r, g, b], a)).collect()
        }
        DynamicImage::ImageLuma16(image) => image.pixels().map(|p| pixel([byte(p.0[0]); 3], WHOLE)).collect(),
        DynamicImage::ImageLumaA16(image) => image.pixels().map(|p| pixel([byte(p.0[0]); 3], byte(p.0[1]))).collect(),
        DynamicImage::ImageRgb16(image) => image.pixels().map(|p| pixel(p.0.map(byte), WHOLE)).collect(),
        DynamicImage::ImageRgba16(image) => {
            image.pixels().map(|&image::Rgba([r, g, b, a])| pixel([r, g, b].map(byte), byte(a))).collect()
        }
        _ => return None,
    })
}

/// For each of `to` equal parts of `from` pixels: the pixels it touches, and how much of each it covers.
fn spans(from: usize, to: usize) -> Vec<Vec<(usize, f64)>> {
    let step = from as f64 / to as f64;
    let part = |i: usize| {
        let (start, end) = (i as f64 * step, ((i + 1) as f64 * step).min(from as f64));
        let touched = start.floor() as usize..(end.ceil() as usize).min(from);
        touched.map(|at| (at, (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0))).collect()
    };
    (0..to).map(part).collect()
}

fn luma([r, g, b]: [u8; 3]) -> u8 {
    ((299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) + 500) / 1000) as u8
}

fn byte(level: u16) -> u8 {
    ((u32::from(level) * 255 + 32767) / 65535) as u8
}

fn covered(level: u8, alpha: u8) -> u8 {
    ((u32::from(level) * u32::from(alpha) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_stays_white_and_black_stays_black() {
        assert_eq!((luma([255; 3]), luma([0; 3]), luma([255, 0, 0]), luma([0, 255, 0])), (255, 0, 76, 150));
        assert_eq!((byte(65535), byte(0), byte(257), byte(32896)), (255, 0, 1, 128));
        assert_eq!((covered(200, 255), covered(200, 0), covered(200, 128)), (200, 0, 100));
    }

    #[test]
    fn a_pixel_that_is_gray_already_stays_as_it_is() {
        assert!((0..=255).all(|level| covered(luma([level; 3]), 255) == level));
    }

    #[test]
    fn shrinking_keeps_the_mean() {
        let image = Picture { height: 3, width: 5, color: Color::Gray, pixels: (0..15).map(|i| i * 10).collect() };
        assert_eq!(image.shrunk((3, 5)), image);
        assert_eq!(image.shrunk((1, 1)).pixels, [70]);
        // Two and a half pixels each: (0 + 10 + 20 / 2) / 2.5 = 8 and (20 / 2 + 30 + 40) / 2.5 = 32 in the first row.
        assert_eq!(image.shrunk((3, 2)).pixels[..2], [8, 32]);
        // Each channel by itself.
        let rgb = image.pixels.iter().flat_map(|&level| [level, 9, 255 - level]).collect();
        let rgb = Picture { color: Color::Rgb, pixels: rgb, ..image };
        assert_eq!(rgb.shrunk((3, 2)).pixels[..6], [8, 9, 247, 32, 9, 223]);
    }
}
