//! Montage and report page of `shadows`: originals, reconstructions and differences.

use steradian::{Result, Source};
use steradian_io::{Clip, Color, Image};

use super::html::{key_value_table, page};
use crate::encode_image::{base64, jpeg, png};

/// Largest number of images in the montage.
const MONTAGE_IMAGES: usize = 8;
/// Pixels between images.
const GAP: usize = 4;
/// Longest side of an image in the page, in pixels.
const SIDE: usize = 192;
/// JPEG quality of images in the page, from 1 to 100.
const QUALITY: u8 = 85;

/// Inverted absolute difference: 255 where two images are equal, darker where they differ more.
pub fn inverted_difference(original: &[u8], relit: &[u8]) -> Vec<u8> {
    original.iter().zip(relit).map(|(a, b)| 255 - a.abs_diff(*b)).collect()
}

/// The montage as PNG, of evenly spaced images: a row of originals, a row of reconstructions without shadows, and a row of
/// inverted differences.
pub fn montage(originals: &[u8], relit: &[u8], (height, width): (usize, usize)) -> Result<Vec<u8>> {
    let (pixels, count) = (height * width, originals.len() / (height * width));
    let shown: Vec<usize> = (0..count.min(MONTAGE_IMAGES)).map(|i| i * count / count.min(MONTAGE_IMAGES)).collect();
    let part = |all: &[u8], at: usize| all[at * pixels..(at + 1) * pixels].to_vec();
    let rows: [Vec<Vec<u8>>; 3] = [
        shown.iter().map(|&at| part(originals, at)).collect(),
        shown.iter().map(|&at| part(relit, at)).collect(),
        shown.iter().map(|&at| inverted_difference(&part(originals, at), &part(relit, at))).collect(),
    ];
    let strips: Vec<Vec<u8>> = rows.iter().map(|row| side_by_side(row, height, width)).collect();
    let total_width = shown.len() * (width + GAP) - GAP;
    let gap = vec![255; GAP * total_width];
    let montage: Vec<u8> = strips.join(&gap[..]);
    let total_height = montage.len() / total_width;
    png(&montage, (total_height, total_width), Color::Gray)
}

/// Images side by side, with a gap between them.
fn side_by_side(images: &[Vec<u8>], height: usize, width: usize) -> Vec<u8> {
    let line = |y: usize| images.iter().map(|image| &image[y * width..(y + 1) * width]).collect::<Vec<_>>();
    (0..height).flat_map(|y| line(y).join(&[255; GAP][..])).collect()
}

/// The report page, built image by image.
pub struct FacesPage {
    size: (usize, usize),
    figures: String,
}

impl FacesPage {
    /// A page without images.
    pub fn new(faces: &Clip) -> Self {
        Self { size: faces.dimensions(), figures: String::new() }
    }

    /// Adds the next image.
    pub fn add(&mut self, number: u64, original: &[u8], relit: &[u8]) -> Result<()> {
        let (height, width) = self.size;
        let factor = (SIDE as f64 / height.max(width) as f64).min(1.0);
        let small =
            ((height as f64 * factor).round().max(1.0) as usize, (width as f64 * factor).round().max(1.0) as usize);
        let shrunk =
            |pixels: &[u8]| Image { height, width, color: Color::Gray, pixels: pixels.to_vec() }.shrunk(small).pixels;
        let three = [shrunk(original), shrunk(relit), shrunk(&inverted_difference(original, relit))];
        let strip = side_by_side(&three, small.0, small.1);
        let jpeg = base64(&jpeg(&strip, (small.0, 3 * (small.1 + GAP) - GAP), Color::Gray, QUALITY)?);
        self.figures.push_str(&format!(
            "<figure><img alt=\"image {number}: original, without shadows, inverted difference\" \
             src=\"data:image/jpeg;base64,{jpeg}\"><figcaption>image {number}</figcaption></figure>\n"
        ));
        Ok(())
    }

    /// The complete page.
    pub fn html(&self, faces: &Clip, lines: &[(&str, String)]) -> String {
        let name = faces.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let title = format!("{}: shadows removed", name.unwrap_or_else(|| faces.path().display().to_string()));
        let body = format!(
            "<h2>Settings and results</h2>\n{}<h2>{} images</h2>\n\
             <p class=\"note\">From left to right: the original, the reconstruction without shadows, and their inverted difference (white: no difference).</p>\n\
             <div class=\"panes\">\n{}</div>\n",
            key_value_table(lines),
            faces.shape().samples,
            self.figures
        );
        page(&title, &body)
    }
}
