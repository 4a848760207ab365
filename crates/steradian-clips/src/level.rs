//! Gray levels of pictures, as bytes.

/// The nearest gray level that a byte can hold.
#[inline]
pub fn gray_level(level: f32) -> u8 {
    (level + 0.5).clamp(0.0, 255.0) as u8
}
