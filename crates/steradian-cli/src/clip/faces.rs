//! Faces with and without their shadows: the montage and the page.

use steradian::{Result, Source};
use steradian_io::{Clip, Color, Image};

use super::html::{facts_table, page};
use crate::encode_image::{base64, jpeg, png};

/// Pictures in the montage, at most.
const SHOWN: usize = 8;
/// Pixels between pictures.
const GAP: usize = 4;
/// The longest side of a picture in the page, and how well it is kept.
const SIDE: usize = 192;
const QUALITY: u8 = 85;

/// White where nothing changed, dark where much did.
pub fn inverted_difference(original: &[u8], relit: &[u8]) -> Vec<u8> {
    original.iter().zip(relit).map(|(a, b)| 255 - a.abs_diff(*b)).collect()
}

/// Some pictures, evenly spread: originals above, pictures without shadows below them, and inverted differences below those.
pub fn montage(originals: &[u8], relit: &[u8], (height, width): (usize, usize)) -> Result<Vec<u8>> {
    let (pixels, count) = (height * width, originals.len() / (height * width));
    let shown: Vec<usize> = (0..count.min(SHOWN)).map(|i| i * count / count.min(SHOWN)).collect();
    let part = |all: &[u8], at: usize| all[at * pixels..(at + 1) * pixels].to_vec();
    let rows: [Vec<Vec<u8>>; 3] = [
        shown.iter().map(|&at| part(originals, at)).collect(),
        shown.iter().map(|&at| part(relit, at)).collect(),
        shown.iter().map(|&at| inverted_difference(&part(originals, at), &part(relit, at))).collect(),
    ];
    let strips: Vec<Vec<u8>> = rows.iter().map(|row| side_by_side(row, height, width)).collect();
    let whole_width = shown.len() * (width + GAP) - GAP;
    let gap = vec![255; GAP * whole_width];
    let whole: Vec<u8> = strips.join(&gap[..]);
    let whole_height = whole.len() / whole_width;
    png(&whole, (whole_height, whole_width), Color::Gray)
}

fn side_by_side(pictures: &[Vec<u8>], height: usize, width: usize) -> Vec<u8> {
    let line = |y: usize| pictures.iter().map(|picture| &picture[y * width..(y + 1) * width]).collect::<Vec<_>>();
    (0..height).flat_map(|y| line(y).join(&[255; GAP][..])).collect()
}

/// The page, gathered picture by picture.
pub struct FacesPage {
    size: (usize, usize),
    figures: String,
}

impl FacesPage {
    /// For pictures of which none was seen yet.
    pub fn new(faces: &Clip) -> Self {
        Self { size: faces.size(), figures: String::new() }
    }

    /// Adds the next picture.
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
            "<figure><img alt=\"picture {number}: original, without shadows, inverted difference\" \
             src=\"data:image/jpeg;base64,{jpeg}\"><figcaption>picture {number}</figcaption></figure>\n"
        ));
        Ok(())
    }

    /// All of it.
    pub fn html(&self, faces: &Clip, facts: &[(&str, String)]) -> String {
        let name = faces.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let title = format!("{}: without shadows", name.unwrap_or_else(|| faces.path().display().to_string()));
        let body = format!(
            "<h2>Settings and outcome</h2>\n{}<h2>{} pictures</h2>\n\
             <p class=\"note\">From left to right: the picture, as it would be without shadows, and what differs (white: nothing).</p>\n\
             <div class=\"panes\">\n{}</div>\n",
            facts_table(facts),
            faces.shape().samples,
            self.figures
        );
        page(&title, &body)
    }
}
