//! Image files, decoded to u8 gray levels or RGB bytes.
//!
//! | stored | converted to |
//! |---|---|
//! | gray, 8 bits | unchanged |
//! | color, read as gray | luma .299 R + .587 G + .114 B (BT.601), as in video decoders and most image tools |
//! | 16 bits | the nearest of 256 levels |
//! | alpha | composited over black |
//! | floating point | rejected: the level of white is not defined |

use std::path::Path;

use image::{DynamicImage, ImageReader};
use steradian::{Error, Result};

use crate::clip::clip_options::ClipOptions;
use crate::clip::image::{Color, Image};

/// The end marker of a JPEG file. It is checked because decoders fill the missing part of a truncated file with gray.
const JPEG_END: [u8; 2] = [0xff, 0xd9];
/// Number of last bytes of a file that are searched for the end marker: some cameras append data.
const JPEG_TAIL: usize = 4096;

impl Image {
    /// Reads a PNG, JPEG, BMP, PNM or TIFF image or the first frame of a GIF as gray levels; the content decides the
    /// format.
    pub fn read_gray(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_decoded(path, &decode(path)?, Color::Gray)
    }

    /// Converts a decoded image to u8; the path is for the error message.
    pub(crate) fn from_decoded(path: &Path, decoded: &DynamicImage, color: Color) -> Result<Self> {
        let pixels = match (color, decoded) {
            (Color::Gray, DynamicImage::ImageLuma8(image)) => Some(image.as_raw().clone()),
            (Color::Gray, _) => map_pixels(decoded, |rgb, alpha| over_black(luma(rgb), alpha)),
            (Color::Rgb, _) => map_pixels(decoded, |rgb, alpha| rgb.map(|level| over_black(level, alpha)))
                .map(<Vec<[u8; 3]>>::into_flattened),
        };
        let Some(pixels) = pixels else {
            return Err(Error::invalid_data(format!(
                "{}: floating-point images are not supported; save the image with 8 or 16 bits per channel",
                path.display()
            )));
        };
        Ok(Self { height: decoded.height() as usize, width: decoded.width() as usize, color, pixels })
    }
}

/// Decodes an image file in its stored color format.
pub(crate) fn decode(path: &Path) -> Result<DynamicImage> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let tail = &bytes[bytes.len().saturating_sub(JPEG_TAIL)..];
    if bytes.starts_with(&[0xff, 0xd8]) && !tail.windows(2).any(|pair| pair == JPEG_END) {
        return Err(Error::corrupt_file(path, "the JPEG image is truncated: its end marker is missing; copy it again"));
    }
    let reader =
        ImageReader::new(std::io::Cursor::new(&bytes)).with_guessed_format().map_err(|e| Error::io(path, e))?;
    if reader.format().is_none() {
        return Err(Error::corrupt_file(path, "image format is not supported; use PNG, JPEG, BMP, PGM, TIFF or GIF"));
    }
    reader.decode().map_err(|e| Error::corrupt_file(path, format!("the image cannot be decoded: {e}")))
}

/// Converts a decoded image to each of the [`ClipOptions::formats`].
pub(crate) fn convert(path: &Path, decoded: &DynamicImage, options: &ClipOptions) -> Result<Vec<Image>> {
    options.formats().iter().map(|color| Image::from_decoded(path, decoded, *color)).collect()
}

/// Maps RGB and alpha of each pixel; `None` if the channels have neither 8 nor 16 bits.
fn map_pixels<P>(image: &DynamicImage, pixel: impl Fn([u8; 3], u8) -> P) -> Option<Vec<P>> {
    const OPAQUE: u8 = 255;
    Some(match image {
        DynamicImage::ImageLuma8(image) => image.pixels().map(|p| pixel([p.0[0]; 3], OPAQUE)).collect(),
        DynamicImage::ImageLumaA8(image) => image.pixels().map(|p| pixel([p.0[0]; 3], p.0[1])).collect(),
        DynamicImage::ImageRgb8(image) => image.pixels().map(|p| pixel(p.0, OPAQUE)).collect(),
        DynamicImage::ImageRgba8(image) => {
            image.pixels().map(|&image::Rgba([r, g, b, a])| pixel([r, g, b], a)).collect()
        }
        DynamicImage::ImageLuma16(image) => image.pixels().map(|p| pixel([to_8_bits(p.0[0]); 3], OPAQUE)).collect(),
        DynamicImage::ImageLumaA16(image) => {
            image.pixels().map(|p| pixel([to_8_bits(p.0[0]); 3], to_8_bits(p.0[1]))).collect()
        }
        DynamicImage::ImageRgb16(image) => image.pixels().map(|p| pixel(p.0.map(to_8_bits), OPAQUE)).collect(),
        DynamicImage::ImageRgba16(image) => {
            image.pixels().map(|&image::Rgba([r, g, b, a])| pixel([r, g, b].map(to_8_bits), to_8_bits(a))).collect()
        }
        _ => return None,
    })
}

/// Gray level of a color.
fn luma([r, g, b]: [u8; 3]) -> u8 {
    ((299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) + 500) / 1000) as u8
}

/// The nearest 8-bit level of a 16-bit level.
fn to_8_bits(level: u16) -> u8 {
    ((u32::from(level) * 255 + 32767) / 65535) as u8
}

/// A level composited over black.
fn over_black(level: u8, alpha: u8) -> u8 {
    ((u32::from(level) * u32::from(alpha) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_stays_white_and_black_stays_black() {
        assert_eq!((luma([255; 3]), luma([0; 3]), luma([255, 0, 0]), luma([0, 255, 0])), (255, 0, 76, 150));
        assert_eq!((to_8_bits(65535), to_8_bits(0), to_8_bits(257), to_8_bits(32896)), (255, 0, 1, 128));
        assert_eq!((over_black(200, 255), over_black(200, 0), over_black(200, 128)), (200, 0, 100));
    }

    #[test]
    fn a_gray_pixel_is_unchanged() {
        assert!((0..=255).all(|level| over_black(luma([level; 3]), 255) == level));
    }
}
