//! Cell maps of all sizes in both formats.

use super::super::Format;
use super::super::cell_grid::{MAX_COLUMNS, MAX_ROWS};
use super::super::labels::Area;
use super::*;

/// A number in [0, 1) for a place, the same in every run.
fn noise(row: usize, feature: usize, salt: u64) -> f64 {
    let mut x = (row as u64) << 32 ^ feature as u64 ^ salt << 52;
    for shift in [33, 29, 32] {
        x = (x ^ (x >> shift)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// Cells with 6 % bad ones and 4 % missing ones; every tenth row has bad cells throughout, and every 29th no cell.
fn cell(row: usize, feature: usize) -> MapCell {
    let normal = (0..6).map(|salt| noise(row, feature, salt)).sum::<f64>() * 1.4 - 4.2;
    let sign = if noise(row, feature, 7) < 0.5 { -1.0 } else { 1.0 };
    match noise(row, feature, 8) {
        _ if row % 29 == 28 => MapCell::Missing,
        x if x < 0.04 => MapCell::Missing,
        x if x < 0.1 || (row.is_multiple_of(10) && x < 0.7) => {
            MapCell::Bad(sign * (2.6 + 6.0 * noise(row, feature, 9)))
        }
        _ => MapCell::Usable(normal.clamp(-2.4, 2.4)),
    }
}

fn mark(row: usize) -> RowMark {
    match row % 20 {
        _ if row % 29 == 28 => RowMark::Empty,
        0 => RowMark::Flag(Flag::BadLeverage),
        10 => RowMark::Flag(Flag::Orthogonal),
        7 => RowMark::Flag(Flag::GoodLeverage),
        _ => RowMark::Flag(Flag::Regular),
    }
}

fn map(rows: usize, features: usize, names: &dyn Fn(usize) -> String, of: &dyn Fn(usize) -> String) -> Drawing {
    let mut grid = CellGrid::new(rows, features);
    (0..rows).for_each(|row| grid.add(row, (0..features).map(|feature| cell(row, feature))));
    let found: Vec<RowMark> = (0..rows).map(mark).collect();
    let selection = format!("{rows} rows in data order");
    let title = "Cell map: cars.csv, robust, d = 2";
    CellMap { grid: &grid, rows: &found, row_label: names, feature_label: of, title, selection: &selection }.drawing()
}

/// The SVG text, after both formats were written; also saved to the folder STERADIAN_PICTURES for inspection.
fn drawn(name: &str, drawing: &Drawing) -> String {
    let svg = Format::Svg.bytes(drawing).unwrap();
    let png = Format::Png.bytes(drawing).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    if let Some(folder) = std::env::var_os("STERADIAN_PICTURES") {
        let path = std::path::Path::new(&folder).join(name);
        std::fs::write(path.with_extension("svg"), &svg).unwrap();
        std::fs::write(path.with_extension("png"), &png).unwrap();
    }
    String::from_utf8(svg).unwrap()
}

/// The rectangle that a text covers.
fn area(typeface: &Typeface, text: &Text) -> Area {
    let (width, height) = (typeface.width(&text.content, text.size), 0.75 * text.size);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let [x, y] = text.at;
    match text.vertical {
        true => Area { left: x - height, top: y + back - width, right: x, bottom: y + back },
        false => Area { left: x - back, top: y - height, right: x - back + width, bottom: y },
    }
}

/// Fails if a text covers another text, a cell of the map or the edge of the drawing.
fn require_readable(drawing: &Drawing) {
    let typeface = Typeface::new();
    let texts: Vec<(Area, &str)> = drawing
        .elements
        .iter()
        .filter_map(|element| match element {
            DrawingElement::Text(text) => Some((area(&typeface, text), text.content.as_str())),
            _ => None,
        })
        .collect();
    for (i, (a, name)) in texts.iter().enumerate() {
        assert!(a.left >= 2.0 && a.right <= drawing.width - 2.0, "{name} is beyond the edge: {a:?}");
        assert!(a.top >= 2.0 && a.bottom <= drawing.height - 2.0, "{name} is beyond the edge: {a:?}");
        for (b, other) in &texts[..i] {
            let disjoint = a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom;
            assert!(disjoint, "{name} covers {other}: {a:?} {b:?}");
        }
        for element in &drawing.elements {
            let DrawingElement::Tiles { size, corners, .. } = element else { continue };
            let covers = |corner: &&Position| {
                a.left < corner[0] + size[0]
                    && corner[0] < a.right
                    && a.top < corner[1] + size[1]
                    && corner[1] < a.bottom
            };
            assert!(!corners.iter().any(|corner| covers(&corner)), "{name} covers a cell");
        }
    }
}

fn index(at: usize) -> String {
    at.to_string()
}

const FEATURES: [&str; 9] =
    ["Price", "Displacement", "BHP", "Torque", "Acceleration", "TopSpeed", "MPG", "Weight", "Length"];

fn car(row: usize) -> String {
    const MAKES: [&str; 4] = ["Alfa Romeo Giulietta", "Aston Martin V12 Zagato", "BMW 1", "Citroën <C3> & co"];
    format!("{} {row}", MAKES[row % 4])
}

fn counts(drawing: &Drawing, color: RgbColor) -> usize {
    let of = |element: &DrawingElement| match element {
        DrawingElement::Tiles { color: own, corners, .. } if *own == color => corners.len(),
        _ => 0,
    };
    drawing.elements.iter().map(of).sum()
}

#[test]
fn a_small_map_has_every_name_and_every_cell() {
    let drawing = map(30, 8, &car, &|feature| FEATURES[feature].to_string());
    let text = drawn("cells-30x8", &drawing);
    require_readable(&drawing);
    for feature in &FEATURES[..8] {
        assert!(text.contains(&format!(">{feature}<")), "{feature}");
    }
    assert!(text.contains("Citroën &lt;C3&gt; &amp; co 3<"));
    let missing = (0..30 * 8).filter(|at| cell(at / 8, at % 8) == MapCell::Missing).count();
    let bad = (0..30 * 8).filter(|at| matches!(cell(at / 8, at % 8), MapCell::Bad(_))).count();
    assert!(text.contains(&format!("{bad} bad and {missing} missing cells")));
    // One more is in the legend, with its own hatching.
    assert_eq!(counts(&drawing, MISSING), missing + 1);
    let hatched = |element: &&DrawingElement| matches!(element, DrawingElement::Line { color, .. } if *color == HATCH);
    assert_eq!(drawing.elements.iter().filter(hatched).count(), missing + 1);
    for part in [
        "bad leverage 2<",
        "orthogonal 1<",
        "good leverage 2<",
        "without a number 1<",
        "30 rows in data order; 8 features",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("mean color"));
}

#[test]
fn maps_of_all_sizes_are_readable() {
    let sizes: [(usize, usize); 10] =
        [(297, 9), (5000, 40), (5, 2000), (60, 226), (1, 1), (3, 2), (60, 30), (421, 481), (2, 100_000), (100, 4)];
    for (rows, features) in sizes {
        let names = |row: usize| if rows < 400 { car(row) } else { index(row) };
        let wavelength = |feature: usize| format!("{}", 1100 + 2 * feature);
        let drawing = map(rows, features, &names, &wavelength);
        let text = drawn(&format!("cells-{rows}x{features}"), &drawing);
        require_readable(&drawing);
        assert_eq!(text.contains("mean color"), rows > MAX_ROWS || features > MAX_COLUMNS, "{rows} x {features}");
        assert!(drawing.width <= 1300.0 && drawing.height <= 1150.0, "{} x {}", drawing.width, drawing.height);
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }
    let long = |feature: usize| format!("a feature with a long name {feature}");
    for (rows, features) in [(10, 12), (10, 60), (10, 900)] {
        let drawing = map(rows, features, &car, &long);
        drawn(&format!("cells-long-{features}"), &drawing);
        require_readable(&drawing);
    }
}

#[test]
fn low_rows_have_a_strip_in_place_of_marks() {
    let drawing = map(400, 10, &index, &index);
    let marks = drawing.elements.iter().filter(|e| matches!(e, DrawingElement::Marks { .. })).count();
    assert_eq!(marks, 4, "those of the legend");
    let strips: usize = drawing
        .elements
        .iter()
        .filter_map(|element| match element {
            DrawingElement::Tiles { size, corners, .. } if size[0] == 7.0 => Some(corners.len()),
            _ => None,
        })
        .sum();
    let flagged = (0..400).filter(|&row| mark(row).style().is_some()).count();
    assert_eq!(strips, flagged);
}

#[test]
fn an_empty_map_is_drawn() {
    let drawing = map(0, 4, &index, &index);
    require_readable(&drawing);
    assert!(drawn("cells-0x4", &drawing).contains("0 rows"));
}
