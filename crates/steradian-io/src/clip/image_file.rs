//! Image files, decoded to u8 gray levels or RGB bytes.
//!
//! | stored | converted to |
//! |---|---|
//! | gray, 8 bits | unchanged |
//! | color, read as gray | luma .299 R + .587 G + .114 B (BT.601), as in video decoders and most image tools |
//! | 16 bits | the nearest of 256 levels |
//! | alpha | composited over black |
//! | floating point | rejected: the level of white is not defined |

use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use steradian::error::format_bytes;
use steradian::{Error, Result};

use crate::clip::clip_limits::{MAX_IMAGE_BYTES, MAX_IMAGE_RATIO};
use crate::clip::clip_options::ClipOptions;
use crate::clip::image::{Color, Image};
use crate::clip::tiff_tags::check_tags;
use crate::system::pread::open_regular;

/// The end marker of a JPEG file. It is checked because decoders fill the missing part of a truncated file with gray.
const JPEG_END: [u8; 2] = [0xff, 0xd9];
/// Number of last bytes of a file that are searched for the end marker: some cameras append data.
const JPEG_TAIL: u64 = 4096;

impl Image {
    /// Reads a PNG, JPEG, BMP, PNM or TIFF image or the first frame of a GIF as gray levels; the content decides the
    /// format.
    pub fn read_gray(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_decoded(path, decode(path)?, Color::Gray)
    }

    /// Converts a decoded image to u8, in place where that is possible; the path is for the error message.
    pub(crate) fn from_decoded(path: &Path, decoded: DynamicImage, color: Color) -> Result<Self> {
        let (height, width) = (decoded.height() as usize, decoded.width() as usize);
        match (color, decoded) {
            (Color::Gray, DynamicImage::ImageLuma8(image)) => {
                Ok(Self { height, width, color, pixels: image.into_raw() })
            }
            (Color::Rgb, DynamicImage::ImageRgb8(image)) => Ok(Self { height, width, color, pixels: image.into_raw() }),
            (_, other) => Self::converted(path, &other, color),
        }
    }

    /// A copy of a decoded image as u8.
    fn converted(path: &Path, decoded: &DynamicImage, color: Color) -> Result<Self> {
        let pixels = match color {
            Color::Gray => map_pixels(decoded, |rgb, alpha| over_black(luma(rgb), alpha)),
            Color::Rgb => map_pixels(decoded, |rgb, alpha| rgb.map(|level| over_black(level, alpha)))
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

/// Decodes an image file in its stored color format. The size in its header is checked before memory is allocated.
pub(crate) fn decode(path: &Path) -> Result<DynamicImage> {
    let failed = |e| not_decoded(path, "image", e);
    let (mut file, bytes) = open_regular(path)?;
    check_jpeg_end(path, &mut file, bytes)?;
    check_tags(path, &file, bytes)?;
    let mut reader = ImageReader::new(BufReader::new(file)).with_guessed_format().map_err(|e| Error::io(path, e))?;
    let Some(format) = reader.format() else {
        return Err(Error::corrupt_file(path, "image format is not supported; use PNG, JPEG, BMP, PGM, TIFF or GIF"));
    };
    // The decoder of JPEG reads the whole file.
    if format == ImageFormat::Jpeg && bytes > MAX_IMAGE_BYTES {
        let (size, limit) = (format_bytes(bytes), format_bytes(MAX_IMAGE_BYTES));
        return Err(Error::corrupt_file(
            path,
            format!("the file is {size}, more than the limit of {limit} of an image"),
        ));
    }
    reader.limits(image_limits());
    let decoder = reader.into_decoder().map_err(failed)?;
    let (width, height) = decoder.dimensions();
    check_size(path, (height, width), decoder.total_bytes())?;
    if decoder.total_bytes() > bytes.saturating_mul(MAX_IMAGE_RATIO) {
        let (decoded, stored) = (format_bytes(decoder.total_bytes()), format_bytes(bytes));
        let problem = format!("the header declares an image of {height} x {width} (height x width), {decoded}");
        return Err(Error::corrupt_file(path, format!("{problem}, in a file of {stored}; copy it again")));
    }
    DynamicImage::from_decoder(decoder).map_err(failed)
}

/// The error of a decoder: an I/O error if the system could not read the file, else a corrupt file.
pub(crate) fn not_decoded(path: &Path, kind: &str, error: ImageError) -> Error {
    if let ImageError::IoError(error) = error {
        return match error.raw_os_error() {
            Some(_) => Error::io(path, error),
            None => Error::corrupt_file(path, format!("the {kind} cannot be decoded: {error}")),
        };
    }
    // Some decoders report an error of the system as a cause of their own.
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    let system = causes.find_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    match system {
        Some(code) => Error::io(path, io::Error::from_raw_os_error(code)),
        None => Error::corrupt_file(path, format!("the {kind} cannot be decoded: {error}")),
    }
}

/// Limits of the memory of a decoder.
pub(crate) fn image_limits() -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_IMAGE_BYTES);
    limits
}

/// Fails if the buffers of a decoder for an image of this height and width exceed the limit.
pub(crate) fn check_size(path: &Path, (height, width): (u32, u32), decoded: u64) -> Result<()> {
    if decoded <= MAX_IMAGE_BYTES {
        return Ok(());
    }
    let (decoded, limit) = (format_bytes(decoded), format_bytes(MAX_IMAGE_BYTES));
    Err(Error::corrupt_file(
        path,
        format!(
            "the image of {height} x {width} (height x width) takes {decoded} when decoded, more than the limit of {limit}; \
             use a smaller image"
        ),
    ))
}

/// Fails for a JPEG file without an end marker; leaves the file at its start.
fn check_jpeg_end(path: &Path, file: &mut File, bytes: u64) -> Result<()> {
    let io = |e| Error::io(path, e);
    let (mut start, mut tail) = (Vec::new(), Vec::new());
    Read::by_ref(file).take(2).read_to_end(&mut start).map_err(io)?;
    if start == [0xff, 0xd8] {
        file.seek(SeekFrom::Start(bytes.saturating_sub(JPEG_TAIL))).map_err(io)?;
        Read::by_ref(file).take(JPEG_TAIL).read_to_end(&mut tail).map_err(io)?;
        if !tail.windows(2).any(|pair| pair == JPEG_END) {
            let problem = "the JPEG image is truncated: its end marker is missing; copy it again";
            return Err(Error::corrupt_file(path, problem));
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(io)?;
    Ok(())
}

/// Converts a decoded image to each of the [`ClipOptions::formats`].
pub(crate) fn convert(path: &Path, decoded: DynamicImage, options: &ClipOptions) -> Result<Vec<Image>> {
    let (last, others) = options.formats().split_last().expect("gray is always a format");
    let mut images: Vec<Image> =
        others.iter().map(|color| Image::converted(path, &decoded, *color)).collect::<Result<_>>()?;
    images.push(Image::from_decoded(path, decoded, *last)?);
    Ok(images)
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
    use std::io::{BufRead, Cursor};

    use super::*;

    /// A file that the system cannot read after its first bytes.
    struct Unreadable(Cursor<Vec<u8>>, u64);

    impl Read for Unreadable {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let mut bytes = self.fill_buf()?;
            let count = bytes.read(buffer)?;
            self.consume(count);
            Ok(count)
        }
    }

    impl BufRead for Unreadable {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            let (at, limit) = (self.0.position() as usize, self.1 as usize);
            if at >= limit && at < self.0.get_ref().len() {
                return Err(io::Error::from_raw_os_error(5)); // EIO on every Unix
            }
            Ok(&self.0.get_ref()[at..limit.max(at)])
        }

        fn consume(&mut self, count: usize) {
            self.0.consume(count);
        }
    }

    impl Seek for Unreadable {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_file_that_the_system_cannot_read_is_an_io_error() {
        let image = DynamicImage::ImageRgb8(image::RgbImage::from_fn(40, 30, |x, y| {
            image::Rgb([(x * y) as u8, (7 * x) as u8, (5 * y) as u8])
        }));
        for format in [
            ImageFormat::Png,
            ImageFormat::Jpeg,
            ImageFormat::Bmp,
            ImageFormat::Pnm,
            ImageFormat::Tiff,
            ImageFormat::Gif,
        ] {
            let mut file = Cursor::new(Vec::new());
            image.write_to(&mut file, format).unwrap();
            let bytes = file.into_inner();
            // The last bytes of some formats are not read.
            for limit in (0..bytes.len() * 3 / 4).step_by(1 + bytes.len() / 50) {
                let file = Unreadable(Cursor::new(bytes.clone()), limit as u64);
                let error = ImageReader::with_format(file, format).decode().unwrap_err();
                let error = not_decoded(Path::new("x"), "image", error);
                assert!(matches!(error, Error::Io { .. }), "{format:?}, {limit} of {} bytes: {error:?}", bytes.len());
                // A truncated file is corrupt.
                let file = Cursor::new(bytes[..limit].to_vec());
                if let Err(error) = ImageReader::with_format(file, format).decode() {
                    let error = not_decoded(Path::new("x"), "image", error);
                    assert!(matches!(error, Error::CorruptFile { .. }), "{format:?}, {limit} bytes: {error:?}");
                }
            }
        }
    }

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
