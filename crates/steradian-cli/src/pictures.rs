//! Pictures as bytes of png, and as text within a page.

use steradian::{Error, Result};

/// A gray picture.
pub fn gray_png(pixels: &[u8], size: (usize, usize)) -> Result<Vec<u8>> {
    encode(pixels, size, png::ColorType::Grayscale)
}

/// A picture in colour: red, green, blue.
pub fn rgb_png(pixels: &[u8], size: (usize, usize)) -> Result<Vec<u8>> {
    encode(pixels, size, png::ColorType::Rgb)
}

/// A gray picture as jpeg, for pages that hold many.
pub fn gray_jpeg(pixels: &[u8], (height, width): (usize, usize), quality: u8) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut out, quality)
        .encode(pixels, width as u32, height as u32, image::ExtendedColorType::L8)
        .map_err(|e| Error::data(format!("a picture could not be encoded: {e}")))?;
    Ok(out)
}

fn encode(pixels: &[u8], (height, width): (usize, usize), color: png::ColorType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoded = || -> std::result::Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels)?;
        writer.finish()
    };
    encoded().map_err(|e| Error::data(format!("a picture could not be encoded: {e}")))?;
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
