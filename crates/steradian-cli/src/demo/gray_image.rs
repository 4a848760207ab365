//! Gray images of the demo: enlarged, side by side, encoded as PNG.

use steradian::Result;
use steradian_io::Color;

use crate::demo::scene::{HEIGHT, WIDTH};
use crate::encode_image::png;

/// Screen pixels per scene pixel.
const ZOOM: usize = 3;
/// Screen pixels between images.
const GAP: usize = 6;

/// A gray image of the size of the scene.
#[derive(Debug, Clone)]
pub struct GrayImage(Vec<u8>);

impl GrayImage {
    /// An image from gray levels, rounded and clipped to 0..=255.
    pub fn from_levels(levels: impl IntoIterator<Item = f64>) -> Self {
        Self(levels.into_iter().map(|x| x.round().clamp(0.0, 255.0) as u8).collect())
    }

    /// An image from u8 gray levels.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

/// A PNG of enlarged images from left to right.
pub fn strip(images: &[&GrayImage]) -> Result<Vec<u8>> {
    let (width, height) = (images.len() * (WIDTH * ZOOM + GAP) - GAP, HEIGHT * ZOOM);
    let mut pixels = Vec::with_capacity(width * height);
    for row in 0..height {
        for (at, image) in images.iter().enumerate() {
            if at > 0 {
                pixels.extend([255; GAP]);
            }
            let line = &image.0[row / ZOOM * WIDTH..][..WIDTH];
            pixels.extend(line.iter().flat_map(|&gray| [gray; ZOOM]));
        }
    }
    png(&pixels, (height, width), Color::Gray)
}
