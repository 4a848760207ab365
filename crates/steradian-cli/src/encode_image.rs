//! Encoders of images: PNG, JPEG, and base64 for HTML pages.

use steradian::{Error, Result};
use steradian_io::Color;

/// An image as PNG.
pub fn png(pixels: &[u8], (height, width): (usize, usize), color: Color) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoded = || -> std::result::Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
        encoder.set_color(if color == Color::Gray { png::ColorType::Grayscale } else { png::ColorType::Rgb });
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels)?;
        writer.finish()
    };
    encoded().map_err(not_encoded)?;
    Ok(out)
}

/// An image as JPEG, which is smaller, for pages with many images.
pub fn jpeg(pixels: &[u8], (height, width): (usize, usize), color: Color, quality: u8) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let stored = if color == Color::Gray { image::ExtendedColorType::L8 } else { image::ExtendedColorType::Rgb8 };
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut out, quality)
        .encode(pixels, width as u32, height as u32, stored)
        .map_err(not_encoded)?;
    Ok(out)
}

fn not_encoded(why: impl std::fmt::Display) -> Error {
    Error::invalid_data(format!("cannot encode an image: {why}"))
}

/// Bytes in base64 (RFC 4648), for a `data:` URL.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_rfc_4648() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
