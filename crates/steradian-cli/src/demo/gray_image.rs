//! Gray pictures: enlarged, put side by side, encoded as png.

use steradian::Result;
use steradian_io::Color;

use crate::demo::scene::{HEIGHT, WIDTH};
use crate::encode_image::png;

/// Screen pixels per scene pixel.
const ZOOM: usize = 3;
/// Screen pixels between pictures.
const GAP: usize = 6;

/// A gray picture of the scene's size.
#[derive(Debug, Clone)]
pub struct GrayImage(Vec<u8>);

impl GrayImage {
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
pub fn strip(pictures: &[&GrayImage]) -> Result<Vec<u8>> {
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
    png(&pixels, (height, width), Color::Gray)
}
