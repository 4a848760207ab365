//! Drawings as PNG, with two pixels per SVG unit for high-density screens.

use steradian::{Error, Result};
use tiny_skia::{FillRule, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};

use super::drawing::{Anchor, Drawing, DrawingElement, MARK_RADIUS, Mark, Position, RgbColor, Text};
use super::font::Typeface;

/// Pixels per SVG unit.
const SCALE: f32 = 2.0;

/// A drawing as PNG.
pub fn png(drawing: &Drawing) -> Result<Vec<u8>> {
    let pixels = paint(drawing)?;
    // The background is opaque, so premultiplied colors are plain colors and alpha can be dropped.
    let colors: Vec<u8> = pixels.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let mut bytes = Vec::new();
    let fail = |e: png::EncodingError| Error::io("plot", std::io::Error::other(e));
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(fail)?;
    writer.write_image_data(&colors).map_err(fail)?;
    writer.finish().map_err(fail)?;
    Ok(bytes)
}

fn paint(drawing: &Drawing) -> Result<Pixmap> {
    let [width, height] = [drawing.width, drawing.height].map(|side| (side as f32 * SCALE).ceil() as u32);
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| Error::invalid_argument(format!("cannot draw a plot of {width} x {height} pixels")))?;
    pixels.fill(tiny_skia::Color::WHITE);
    let typeface = Typeface::new();
    for element in &drawing.elements {
        draw(&mut pixels, &typeface, element);
    }
    Ok(pixels)
}

fn draw(pixels: &mut Pixmap, typeface: &Typeface, element: &DrawingElement) {
    let scale = Transform::from_scale(SCALE, SCALE);
    match element {
        DrawingElement::Line { from, to, width, color, dashed } => {
            let mut path = PathBuilder::new();
            path.move_to(from[0] as f32, from[1] as f32);
            path.line_to(to[0] as f32, to[1] as f32);
            let dash = if *dashed { StrokeDash::new(vec![6.0, 4.0], 0.0) } else { None };
            let stroke = Stroke { width: *width as f32, dash, ..Stroke::default() };
            if let Some(path) = path.finish() {
                pixels.stroke_path(&path, &ink(*color, 1.0), &stroke, scale, None);
            }
        }
        DrawingElement::Text(text) => {
            if let Some(path) = typeface.outline(&text.content, text.size, start(typeface, text), text.vertical) {
                pixels.fill_path(&path, &ink(text.color, 1.0), FillRule::Winding, scale, None);
            }
        }
        DrawingElement::Marks { mark, color, opacity, points } => {
            if let Some(path) = outline(*mark) {
                for point in points {
                    let placed = scale.pre_translate(point[0] as f32, point[1] as f32);
                    pixels.fill_path(&path, &ink(*color, *opacity), FillRule::Winding, placed, None);
                }
            }
        }
        DrawingElement::Tiles { size, color, opacity, corners } => {
            let [width, height] = size.map(|side| side as f32);
            for corner in corners {
                if let Some(tile) = Rect::from_xywh(corner[0] as f32, corner[1] as f32, width, height) {
                    pixels.fill_rect(tile, &ink(*color, *opacity), scale, None);
                }
            }
        }
    }
}

/// Start of a text on its baseline.
fn start(typeface: &Typeface, text: &Text) -> Position {
    let width = typeface.width(&text.content, text.size);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let [x, y] = text.at;
    if text.vertical { [x, y + back] } else { [x - back, y] }
}

/// Outline of a mark around the origin.
fn outline(mark: Mark) -> Option<tiny_skia::Path> {
    if mark == Mark::Circle {
        return PathBuilder::from_circle(0.0, 0.0, MARK_RADIUS as f32);
    }
    let mut path = PathBuilder::new();
    for (i, corner) in mark.corners().iter().enumerate() {
        let (x, y) = (corner[0] as f32, corner[1] as f32);
        if i == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.close();
    path.finish()
}

fn ink([red, green, blue]: RgbColor, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (255.0 * opacity).round() as u8);
    paint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_at_its_point() {
        let elements = vec![DrawingElement::Marks {
            mark: Mark::Square,
            color: [200, 0, 0],
            opacity: 1.0,
            points: vec![[10.0, 5.0]],
        }];
        let drawing = Drawing { width: 20.0, height: 10.0, title: String::new(), elements };
        let pixels = paint(&drawing).unwrap();
        let at = |x: u32, y: u32| pixels.pixel(x, y).map(|p| [p.red(), p.green(), p.blue()]);
        assert_eq!((pixels.width(), pixels.height()), (40, 20));
        assert_eq!(at(20, 10), Some([200, 0, 0]));
        assert_eq!(at(2, 10), Some([255; 3]));
        assert!(png(&drawing).unwrap().starts_with(b"\x89PNG"));
    }
}
