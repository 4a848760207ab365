//! Gray pictures: enlarged, put side by side, encoded as png.

use steradian::{Error, Result};

use crate::demo::scene::{HEIGHT, WIDTH};

/// Screen pixels per scene pixel.
const ZOOM: usize = 3;
/// Screen pixels between pictures.
const GAP: usize = 6;

/// A gray picture of the scene's size.
#[derive(Debug, Clone)]
pub struct Picture(Vec<u8>);

impl Picture {
    /// From gray levels, rounded and clipped.
    pub fn from_levels(levels: impl IntoIterator<Item = f64>) -> Self {
        Self(levels.into_iter().map(|x| x.round().clamp(0.0, 255.0) as u8).collect())
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

/// A png of the pictures from left to right, each enlarged.
pub fn strip(pictures: &[&Picture]) -> Result<Vec<u8>> {
    let (width, height) = (pictures.len() * (WIDTH * ZOOM + GAP) - GAP, HEIGHT * ZOOM);
    let mut pixels = Vec::with_capacity(width * height);
    for row in 0..height {
        for (at, picture) in pictures.iter().enumerate() {
            if at > 0 {
                pixels.extend([255; GAP]);
            }
            let line = &picture.0[row / ZOOM * WIDTH..][..WIDTH];
            pixels.extend(line.iter().flat_map(|&gray| [gray; ZOOM]));
        }
    }
    encode(&pixels, width, height).map_err(|e| Error::data(format!("a picture could not be encoded: {e}")))
}

fn encode(pixels: &[u8], width: usize, height: usize) -> std::result::Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(out)
}

/// Bytes as text for a `data:` address (RFC 4648).
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = ALPHABET[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
