//! Text in PNG output: outlines of an embedded font, so that no system font is needed.

use tiny_skia::PathBuilder;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::drawing::Position;

/// The embedded font.
pub struct Typeface {
    face: Face<'static>,
}

impl Typeface {
    /// Loads DejaVu Sans.
    pub fn new() -> Self {
        Self { face: Face::parse(dejavu::sans::regular(), 0).expect("the embedded font is valid") }
    }

    /// Width of a text at a font size.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(self.glyph(c))).sum::<f64>() * self.scale(size)
    }

    /// Outline of a text that starts at a point; vertical text runs upwards.
    pub fn outline(&self, text: &str, size: f64, start: Position, vertical: bool) -> Option<tiny_skia::Path> {
        let mut pen = Pen { path: PathBuilder::new(), start, along: 0.0, scale: self.scale(size), vertical };
        for glyph in text.chars().map(|c| self.glyph(c)) {
            self.face.outline_glyph(glyph, &mut pen);
            pen.along += self.advance(glyph) * pen.scale;
        }
        pen.path.finish()
    }

    fn glyph(&self, c: char) -> GlyphId {
        // Glyph 0 is the box for a missing character.
        self.face.glyph_index(if c.is_control() { ' ' } else { c }).unwrap_or(GlyphId(0))
    }

    fn advance(&self, glyph: GlyphId) -> f64 {
        self.face.glyph_hor_advance(glyph).unwrap_or(0).into()
    }

    fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.face.units_per_em())
    }
}

/// Conversion of outlines from font units, where y grows upwards, to the drawing.
struct Pen {
    path: PathBuilder,
    start: Position,
    along: f64,
    scale: f64,
    vertical: bool,
}

impl Pen {
    fn point(&self, x: f32, y: f32) -> (f32, f32) {
        let (along, above) = (self.along + f64::from(x) * self.scale, f64::from(y) * self.scale);
        let [x, y] = match self.vertical {
            true => [self.start[0] - above, self.start[1] - along],
            false => [self.start[0] + along, self.start[1] - above],
        };
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.point(x1, y1), self.point(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.point(x1, y1), self.point(x2, y2), self.point(x, y));
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
    fn text_has_a_width_and_an_outline() {
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
