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

use crate::clip::clip_options::ClipOptions;
use crate::clip::image::{Color, Image};

/// The end of a JPEG file; decoders fill up what is missing with gray and call it done.
const JPEG_END: [u8; 2] = [0xff, 0xd9];
/// How far from the end of a file a JPEG may end: some cameras append a few bytes.
const JPEG_TAIL: usize = 4096;

impl Image {
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
            return Err(Error::invalid_data(format!(
                "{}: the image holds floating-point numbers, which have no agreed white; save it with 8 or 16 bits",
                path.display()
            )));
        };
        Ok(Self { height: decoded.height() as usize, width: decoded.width() as usize, color, pixels })
    }
}

/// The image of a file, in the form that it was stored in.
pub(crate) fn decode(path: &Path) -> Result<DynamicImage> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let tail = &bytes[bytes.len().saturating_sub(JPEG_TAIL)..];
    if bytes.starts_with(&[0xff, 0xd8]) && !tail.windows(2).any(|pair| pair == JPEG_END) {
        return Err(Error::corrupt_file(path, "the JPEG image is cut short: its end is missing; copy it again"));
    }
    let reader =
        ImageReader::new(std::io::Cursor::new(&bytes)).with_guessed_format().map_err(|e| Error::io(path, e))?;
    if reader.format().is_none() {
        return Err(Error::corrupt_file(path, "this is no image that is read: PNG, JPEG, BMP, PGM, TIFF or GIF"));
    }
    reader.decode().map_err(|e| Error::corrupt_file(path, format!("the image cannot be decoded: {e}")))
}

/// The pixels of a decoded image in each of the [`ClipOptions::views`].
pub(crate) fn views(path: &Path, decoded: &DynamicImage, options: &ClipOptions) -> Result<Vec<Image>> {
    options.views().iter().map(|color| Image::from_decoded(path, decoded, *color)).collect()
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
}
