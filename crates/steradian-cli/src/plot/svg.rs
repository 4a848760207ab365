//! Drawings as SVG.

use std::fmt::Write as _;

use super::drawing::{Anchor, Drawing, DrawingElement, MARK_RADIUS, Mark, RgbColor, Text};

/// A drawing as SVG. Coordinates have one decimal, which keeps files with many points small.
pub fn svg(drawing: &Drawing) -> String {
    let (width, height) = (Short(drawing.width), Short(drawing.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escape(&drawing.title)
    );
    for (index, element) in drawing.elements.iter().enumerate() {
        draw(&mut out, index, element);
    }
    out += "</svg>\n";
    out
}

fn draw(out: &mut String, index: usize, element: &DrawingElement) {
    // Writing to a string cannot fail.
    let _ = match element {
        DrawingElement::Line { from, to, width, color, dashed } => {
            let dashes = if *dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let ([x1, y1], [x2, y2]) = (from.map(Short), to.map(Short));
            writeln!(
                out,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{}\" stroke-width=\"{}\"{dashes}/>",
                hex(*color),
                Short(*width)
            )
        }
        DrawingElement::Text(text) => writeln!(out, "{}", text_element(text)),
        DrawingElement::Marks { mark, color, opacity, points } => {
            let shape = shape(*mark);
            let _ = writeln!(
                out,
                "<defs><g id=\"m{index}\" fill=\"{}\" fill-opacity=\"{opacity}\">{shape}</g></defs>",
                hex(*color)
            );
            points.iter().try_for_each(|point| {
                let [x, y] = point.map(Short);
                writeln!(out, "<use href=\"#m{index}\" x=\"{x}\" y=\"{y}\"/>")
            })
        }
        DrawingElement::Tiles { size, color, opacity, corners } => {
            let _ = write!(out, "<path fill=\"{}\" fill-opacity=\"{opacity:.2}\" d=\"", hex(*color));
            let [width, height] = size.map(Short);
            for corner in corners {
                let [x, y] = corner.map(Short);
                let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
            }
            writeln!(out, "\"/>")
        }
    };
}

/// The shape of a mark around the origin.
fn shape(mark: Mark) -> String {
    if mark == Mark::Circle {
        return format!("<circle r=\"{}\"/>", Short(MARK_RADIUS));
    }
    let corners: Vec<String> = mark.corners().iter().map(|[x, y]| format!("{},{}", Short(*x), Short(*y))).collect();
    format!("<polygon points=\"{}\"/>", corners.join(" "))
}

/// A text element.
fn text_element(text: &Text) -> String {
    let [x, y] = text.at.map(Short);
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let rotation = if text.vertical { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\"{rotation}>{}</text>",
        Short(text.size),
        hex(text.color),
        escape(&text.content)
    )
}

fn hex([red, green, blue]: RgbColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text for XML: special characters escaped, forbidden characters replaced by spaces.
fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".to_string(),
            '<' => "&lt;".to_string(),
            '>' => "&gt;".to_string(),
            '"' => "&quot;".to_string(),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => " ".to_string(),
            c => c.to_string(),
        })
        .collect()
}

/// A length with at most one decimal.
#[derive(Clone, Copy)]
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        // A negative zero would be written with its sign.
        write!(f, "{}", if tenths == 0.0 { 0.0 } else { tenths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_escaped() {
        assert_eq!([1.04, 1.0, -0.01, 123.456].map(|x| Short(x).to_string()), ["1", "1", "0", "123.5"]);
        assert_eq!(escape("a<b & \"c\"\u{7}>"), "a&lt;b &amp; &quot;c&quot; &gt;");
        assert_eq!(hex([0, 114, 178]), "#0072b2");
    }

    #[test]
    fn each_element_is_written() {
        let elements = vec![
            DrawingElement::Line { from: [0.0, 1.0], to: [2.0, 3.0], width: 1.0, color: [0; 3], dashed: true },
            DrawingElement::Marks {
                mark: Mark::Circle,
                color: [0; 3],
                opacity: 0.5,
                points: vec![[1.0, 2.0], [3.0, 4.0]],
            },
            DrawingElement::Tiles { size: [4.0, 3.0], color: [0; 3], opacity: 0.5, corners: vec![[8.0, 12.0]] },
            DrawingElement::Text(Text {
                at: [5.0, 6.0],
                size: 12.0,
                color: [0; 3],
                anchor: Anchor::Middle,
                vertical: true,
                content: "x < y".into(),
            }),
        ];
        let text = svg(&Drawing { width: 20.0, height: 10.0, title: "t".into(), elements });
        for part in [
            "viewBox=\"0 0 20 10\"",
            "stroke-dasharray",
            "<use href=\"#m1\" x=\"3\" y=\"4\"/>",
            "M8 12h4v3h-4z",
            "rotate(-90 5 6)",
            "x &lt; y",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
