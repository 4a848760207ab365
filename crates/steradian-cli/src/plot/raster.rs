//! A scene as PNG: twice as many pixels as SVG units each way, for dense screens.

use steradian::{Error, Result};
use tiny_skia::{FillRule, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};

use super::drawing::{Anchor, Color, Drawing, Element, MARK, Mark, Place, Text};
use super::font::Typeface;

/// Pixels to a unit.
const SCALE: f32 = 2.0;

/// The bytes of a picture.
pub fn png(scene: &Drawing) -> Result<Vec<u8>> {
    let pixels = paint(scene)?;
    // Nothing is transparent, so color is as it is stored, and the fourth byte says nothing.
    let colors: Vec<u8> = pixels.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let mut bytes = Vec::new();
    let fail = |e: png::EncodingError| Error::io("picture", std::io::Error::other(e));
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(fail)?;
    writer.write_image_data(&colors).map_err(fail)?;
    writer.finish().map_err(fail)?;
    Ok(bytes)
}

fn paint(scene: &Drawing) -> Result<Pixmap> {
    let [width, height] = [scene.width, scene.height].map(|side| (side as f32 * SCALE).ceil() as u32);
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| Error::invalid_argument(format!("a picture of {width} x {height} pixels cannot be made")))?;
    pixels.fill(tiny_skia::Color::WHITE);
    let typeface = Typeface::new();
    for shape in &scene.shapes {
        draw(&mut pixels, &typeface, shape);
    }
    Ok(pixels)
}

fn draw(pixels: &mut Pixmap, typeface: &Typeface, shape: &Element) {
    let scale = Transform::from_scale(SCALE, SCALE);
    match shape {
        Element::Line { from, to, width, color, dashed } => {
            let mut path = PathBuilder::new();
            path.move_to(from[0] as f32, from[1] as f32);
            path.line_to(to[0] as f32, to[1] as f32);
            let dash = if *dashed { StrokeDash::new(vec![6.0, 4.0], 0.0) } else { None };
            let stroke = Stroke { width: *width as f32, dash, ..Stroke::default() };
            if let Some(path) = path.finish() {
                pixels.stroke_path(&path, &ink(*color, 1.0), &stroke, scale, None);
            }
        }
        Element::Text(text) => {
            if let Some(path) = typeface.outline(&text.words, text.size, start(typeface, text), text.upright) {
                pixels.fill_path(&path, &ink(text.color, 1.0), FillRule::Winding, scale, None);
            }
        }
        Element::Marks { mark, color, opacity, places } => {
            if let Some(path) = form(*mark) {
                for place in places {
                    let there = scale.pre_translate(place[0] as f32, place[1] as f32);
                    pixels.fill_path(&path, &ink(*color, *opacity), FillRule::Winding, there, None);
                }
            }
        }
        Element::Tiles { side, color, opacity, corners } => {
            for corner in corners {
                if let Some(tile) = Rect::from_xywh(corner[0] as f32, corner[1] as f32, *side as f32, *side as f32) {
                    pixels.fill_rect(tile, &ink(*color, *opacity), scale, None);
                }
            }
        }
    }
}

/// Where words begin whose anchor is elsewhere.
fn start(typeface: &Typeface, text: &Text) -> Place {
    let width = typeface.width(&text.words, text.size);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let [x, y] = text.at;
    if text.upright { [x, y + back] } else { [x - back, y] }
}

fn form(mark: Mark) -> Option<tiny_skia::Path> {
    if mark == Mark::Circle {
        return PathBuilder::from_circle(0.0, 0.0, MARK as f32);
    }
    let mut path = PathBuilder::new();
    for (i, corner) in mark.corners().iter().enumerate() {
        let (x, y) = (corner[0] as f32, corner[1] as f32);
        if i == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.close();
    path.finish()
}

fn ink([red, green, blue]: Color, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (255.0 * opacity).round() as u8);
    paint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_where_it_should_be() {
        let shapes =
            vec![Element::Marks { mark: Mark::Square, color: [200, 0, 0], opacity: 1.0, places: vec![[10.0, 5.0]] }];
        let scene = Drawing { width: 20.0, height: 10.0, title: String::new(), shapes };
        let pixels = paint(&scene).unwrap();
        let at = |x: u32, y: u32| pixels.pixel(x, y).map(|p| [p.red(), p.green(), p.blue()]);
        assert_eq!((pixels.width(), pixels.height()), (40, 20));
        assert_eq!(at(20, 10), Some([200, 0, 0]));
        assert_eq!(at(2, 10), Some([255; 3]));
        assert!(png(&scene).unwrap().starts_with(b"\x89PNG"));
    }
}
