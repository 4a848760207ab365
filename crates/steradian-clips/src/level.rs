//! Gray levels of images as u8.

/// The nearest gray level from 0 to 255.
#[inline]
pub fn gray_level(level: f32) -> u8 {
    (level + 0.5).clamp(0.0, 255.0) as u8
}
