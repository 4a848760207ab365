//! One image file as gray bytes, whatever it was stored as.
//!
//! | stored | becomes |
//! |---|---|
//! | gray, 8 bits | itself |
//! | colour | .299 R + .587 G + .114 B, the luma of television, which video decoders and most image tools use |
//! | 16 bits | the nearest of 256 levels |
//! | alpha | what it covers, seen before black |
//! | floating point | refused: nobody knows which number is white |

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use image::{DynamicImage, ImageReader};
use steradian::{Error, Result};

/// The end of a JPEG file; decoders fill up what is missing with gray and call it done.
const JPEG_END: [u8; 2] = [0xff, 0xd9];
/// How far from the end of a file a JPEG may end: some cameras append a few bytes.
const JPEG_TAIL: u64 = 4096;

/// An image of gray levels, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrayImage {
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
    /// One byte a pixel.
    pub pixels: Vec<u8>,
}

impl GrayImage {
    /// Height and width.
    pub fn size(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// Reads PNG, JPEG, BMP, PNM, TIFF or the first picture of a GIF, by content.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).map_err(|e| Error::io(path, e))?;
        let tail = &bytes[bytes.len().saturating_sub(JPEG_TAIL as usize)..];
        if bytes.starts_with(&[0xff, 0xd8]) && !tail.windows(2).any(|pair| pair == JPEG_END) {
            return Err(Error::broken(path, "the JPEG image is cut short: its end is missing; copy it again"));
        }
        let reader =
            ImageReader::new(std::io::Cursor::new(&bytes)).with_guessed_format().map_err(|e| Error::io(path, e))?;
        if reader.format().is_none() {
            return Err(Error::broken(path, "this is no image that is read: PNG, JPEG, BMP, PGM, TIFF or GIF"));
        }
        let decoded = reader.decode().map_err(|e| Error::broken(path, format!("the image cannot be decoded: {e}")))?;
        Self::from_decoded(path, &decoded)
    }

    /// The gray levels of a decoded image; the path is for the message.
    pub(crate) fn from_decoded(path: &Path, decoded: &DynamicImage) -> Result<Self> {
        let (height, width) = (decoded.height() as usize, decoded.width() as usize);
        let pixels = match decoded {
            DynamicImage::ImageLuma8(image) => image.as_raw().clone(),
            DynamicImage::ImageLumaA8(image) => image.pixels().map(|p| covered(p.0[0], p.0[1])).collect(),
            DynamicImage::ImageRgb8(image) => image.pixels().map(|p| luma(p.0)).collect(),
            DynamicImage::ImageRgba8(image) => {
                image.pixels().map(|&image::Rgba([r, g, b, a])| covered(luma([r, g, b]), a)).collect()
            }
            DynamicImage::ImageLuma16(image) => image.pixels().map(|p| byte(p.0[0])).collect(),
            DynamicImage::ImageLumaA16(image) => image.pixels().map(|p| covered(byte(p.0[0]), byte(p.0[1]))).collect(),
            DynamicImage::ImageRgb16(image) => image.pixels().map(|p| luma(p.0.map(byte))).collect(),
            DynamicImage::ImageRgba16(image) => {
                image.pixels().map(|&image::Rgba([r, g, b, a])| covered(luma([r, g, b].map(byte)), byte(a))).collect()
            }
            _ => {
                return Err(Error::data(format!(
                    "{}: the image holds floating-point numbers, which have no agreed white; save it with 8 or 16 bits",
                    path.display()
                )));
            }
        };
        Ok(Self { height, width, pixels })
    }

    /// The image at another size that is no larger: each pixel is the mean of the area it covers.
    pub fn shrunk(&self, (height, width): (usize, usize)) -> Self {
        if (height, width) == self.size() {
            return self.clone();
        }
        let (down, across) = (spans(self.height, height), spans(self.width, width));
        let mut pixels = Vec::with_capacity(height * width);
        for rows in &down {
            for columns in &across {
                let (mut sum, mut area) = (0.0, 0.0);
                for &(y, tall) in rows {
                    for &(x, wide) in columns {
                        sum += tall * wide * f64::from(self.pixels[y * self.width + x]);
                        area += tall * wide;
                    }
                }
                pixels.push((sum / area).round() as u8);
            }
        }
        Self { height, width, pixels }
    }
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
    fn shrinking_keeps_the_mean() {
        let image = GrayImage { height: 3, width: 5, pixels: (0..15).map(|i| i * 10).collect() };
        assert_eq!(image.shrunk((3, 5)), image);
        assert_eq!(image.shrunk((1, 1)).pixels, [70]);
        // Two and a half pixels each: (0 + 10 + 20 / 2) / 2.5 = 8 and (20 / 2 + 30 + 40) / 2.5 = 32 in the first row.
        assert_eq!(image.shrunk((3, 2)).pixels[..2], [8, 32]);
    }
}
