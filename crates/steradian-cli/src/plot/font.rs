//! The letters of pixel pictures: outlines from a font inside the program, so that no system font is needed.

use tiny_skia::PathBuilder;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::drawing::Place;

/// The one typeface.
pub struct Typeface {
    face: Face<'static>,
}

impl Typeface {
    /// DejaVu Sans.
    pub fn new() -> Self {
        Self { face: Face::parse(dejavu::sans::regular(), 0).expect("the font inside the program is sound") }
    }

    /// How wide words are at a size.
    pub fn width(&self, words: &str, size: f64) -> f64 {
        words.chars().map(|c| self.advance(self.glyph(c))).sum::<f64>() * self.scale(size)
    }

    /// The outlines of words that begin at a place; a turn by a quarter makes them read upwards.
    pub fn outline(&self, words: &str, size: f64, start: Place, upright: bool) -> Option<tiny_skia::Path> {
        let mut pen = Pen { path: PathBuilder::new(), start, along: 0.0, scale: self.scale(size), upright };
        for glyph in words.chars().map(|c| self.glyph(c)) {
            self.face.outline_glyph(glyph, &mut pen);
            pen.along += self.advance(glyph) * pen.scale;
        }
        pen.path.finish()
    }

    fn glyph(&self, c: char) -> GlyphId {
        // The font's box for what it does not have.
        self.face.glyph_index(if c.is_control() { ' ' } else { c }).unwrap_or(GlyphId(0))
    }

    fn advance(&self, glyph: GlyphId) -> f64 {
        self.face.glyph_hor_advance(glyph).unwrap_or(0).into()
    }

    fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.face.units_per_em())
    }
}

/// Moves outlines from the font's units, where y grows upwards, to the picture.
struct Pen {
    path: PathBuilder,
    start: Place,
    along: f64,
    scale: f64,
    upright: bool,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let (along, above) = (self.along + f64::from(x) * self.scale, f64::from(y) * self.scale);
        let [x, y] = match self.upright {
            true => [self.start[0] - above, self.start[1] - along],
            false => [self.start[0] + along, self.start[1] - above],
        };
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_width_and_an_outline() {
        let face = Typeface::new();
        let wide = face.width("mm", 12.0);
        assert!(wide > face.width("ii", 12.0) && (2.0 * face.width("m", 12.0) - wide).abs() < 1e-9);
        assert!((face.width("mm", 24.0) - 2.0 * wide).abs() < 1e-9);
        let bounds = face.outline("mm", 12.0, [100.0, 50.0], false).unwrap().bounds();
        assert!(bounds.left() >= 100.0 && f64::from(bounds.right()) <= 100.0 + wide && bounds.bottom() <= 50.5);
        let bounds = face.outline("mm", 12.0, [100.0, 50.0], true).unwrap().bounds();
        assert!(bounds.right() <= 100.5 && f64::from(bounds.top()) >= 50.0 - wide && bounds.bottom() <= 50.0);
        assert!(face.outline(" ", 12.0, [0.0, 0.0], false).is_none());
        assert!(face.width("ë東\u{10ffff}", 12.0) > 0.0);
    }
}
