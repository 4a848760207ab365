//! Outlier maps of all sizes in both formats.

use std::f64::consts::TAU;

use super::super::Format;
use super::*;

/// Approximately normal distances without a random generator: a Halton sequence and the Box-Muller transform.
fn samples(n: usize, outliers: usize, cutoffs: [f64; 2], far: f64) -> Vec<Diagnosis> {
    let halton = |mut i: usize, base: usize| {
        let (mut weight, mut value) = (1.0, 0.0);
        while i > 0 {
            weight /= base as f64;
            value += weight * (i % base) as f64;
            i /= base;
        }
        value
    };
    let normal =
        |i: usize, a: usize, b: usize| (-2.0 * halton(i, a).max(1e-9).ln()).sqrt() * (TAU * halton(i, b)).cos();
    let sample = |i: usize| {
        let (a, b, c) = (normal(i + 1, 2, 3), normal(i + 1, 5, 7), normal(i + 1, 11, 13));
        let beyond = if i < outliers { far } else { 0.0 };
        let score = a.hypot(b) + if i.is_multiple_of(3) { beyond * cutoffs[0] } else { 0.0 };
        let orthogonal = (0.5 + 0.15 * c).abs() + if i % 3 < 2 { beyond } else { 0.0 };
        let score = if i % 50 == 49 { score + 2.5 } else { score };
        let flag = Flag::of([score, orthogonal], cutoffs);
        Diagnosis { score_distance: score, orthogonal_distance: orthogonal, angle_degrees: 10.0, flag }
    };
    (0..n).map(sample).collect()
}

const CUTOFFS: [f64; 2] = [2.72, 0.81];

fn labels(samples: &[Diagnosis], most: usize) -> Vec<(usize, String)> {
    let flagged = samples.iter().enumerate().filter(|(_, sample)| sample.flag.is_outlier());
    flagged.take(most).map(|(i, _)| (i, format!("sample {i}"))).collect()
}

fn map(samples: &[Diagnosis], cutoffs: [f64; 2], title: &str) -> Drawing {
    let labels = labels(samples, 12);
    OutlierMap { samples, cutoffs, labels: &labels, title }.drawing()
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

fn marks(drawing: &Drawing, expected: Mark) -> usize {
    let count = |element: &DrawingElement| match element {
        DrawingElement::Marks { mark, points, .. } if *mark == expected => points.len(),
        _ => 0,
    };
    // One more mark is in the legend.
    drawing.elements.iter().map(count).sum::<usize>() - 1
}

#[test]
fn every_flag_has_its_marks_and_its_count() {
    let samples = samples(300, 40, CUTOFFS, 2.0);
    let drawing = map(&samples, CUTOFFS, "Outlier map: cars.csv, robust, d = 2");
    let text = drawn("usual", &drawing);
    for flag in Flag::ALL {
        let count = samples.iter().filter(|sample| sample.flag == flag).count();
        assert!(count > 0, "{}", flag.name());
        assert_eq!(marks(&drawing, style(flag).0), count);
        assert!(text.contains(&format!("{} {count}<", style(flag).2)), "{}", flag.name());
    }
    assert!(text.contains("cutoff 2.720") && text.contains("cutoff 0.8100"));
    assert_eq!(text.matches("stroke-dasharray").count(), 2);
    assert!(!text.contains("logarithmic") && text.contains("sample 0"));
}

#[test]
fn far_outliers_make_the_axes_logarithmic() {
    let samples = samples(400, 60, CUTOFFS, 1e5);
    let text = drawn("far", &map(&samples, CUTOFFS, "Far outliers"));
    assert_eq!(text.matches("logarithmic").count(), 2);
    assert!(text.contains("10⁴"));
}

#[test]
fn without_an_orthogonal_cutoff_it_is_a_strip() {
    let cutoffs = [2.72, f64::NAN];
    let samples = samples(120, 20, cutoffs, 2.0);
    let drawing = map(&samples, cutoffs, "d reaches the rank");
    let text = drawn("strip", &drawing);
    assert_eq!(drawing.height, STRIP_HEIGHT);
    assert!(text.contains("no orthogonal distance") && text.contains("orthogonal 0<"));
    assert_eq!(text.matches("stroke-dasharray").count(), 1);
    assert_eq!(map(&samples, [f64::NAN; 2], "none").elements.iter().filter(|element| is_dashed(element)).count(), 0);
}

fn is_dashed(element: &DrawingElement) -> bool {
    matches!(element, DrawingElement::Line { dashed: true, .. })
}

#[test]
fn many_samples_become_density_in_a_small_file() {
    let just = drawn("just", &map(&samples(MAX_MARKS, 500, CUTOFFS, 2.0), CUTOFFS, "50 000 samples"));
    assert!(just.len() < 2_000_000, "{}", just.len());
    let drawing = map(&samples(400_000, 4000, CUTOFFS, 2.0), CUTOFFS, "400 000 samples");
    let many = drawn("many", &drawing);
    assert!(many.len() < 500_000, "{}", many.len());
    assert!(many.contains("h4v4h-4z") && marks(&drawing, Mark::Circle) == 0);
    assert_eq!(marks(&drawing, Mark::Diamond) + marks(&drawing, Mark::Triangle), 12, "each label has its mark");
}

#[test]
fn few_samples() {
    for n in [0, 1, 2] {
        let samples = samples(n, 0, CUTOFFS, 0.0);
        let text = drawn(&format!("few{n}"), &map(&samples, CUTOFFS, "few"));
        assert!(text.contains(&format!("regular {n}<")) && text.contains("bad leverage 0<"));
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }
    let still =
        Diagnosis { score_distance: 0.0, orthogonal_distance: 0.0, angle_degrees: f64::NAN, flag: Flag::Regular };
    let text = drawn("still", &map(&[still; 3], [f64::NAN; 2], "all at the center"));
    assert!(!text.contains("NaN"));
    let lost = Diagnosis { score_distance: f64::INFINITY, ..still };
    let text = drawn("lost", &map(&[still, lost], CUTOFFS, "one at infinity"));
    assert!(text.contains("1 not drawn") && !text.contains("inf\""));
}

#[test]
fn unusual_names_are_escaped_and_truncated() {
    let samples = samples(30, 10, CUTOFFS, 2.0);
    let labels = [(0, "Citroën <C3> & co".to_string()), (1, "x".repeat(200)), (99, "no such sample".to_string())];
    let drawing =
        OutlierMap { samples: &samples, cutoffs: CUTOFFS, labels: &labels, title: "<odd> & \"names\"" }.drawing();
    let text = drawn("odd", &drawing);
    assert!(text.contains("Citroën &lt;C3&gt; &amp; co") && text.contains(&format!("{}…", "x".repeat(23))));
    assert!(!text.contains("no such sample") && text.contains("&lt;odd&gt;"));
}

#[test]
fn labels_do_not_overlap_and_stay_inside() {
    let samples = samples(200, 60, CUTOFFS, 0.6);
    let drawing = map(&samples, CUTOFFS, "a cluster");
    drawn("cluster", &drawing);
    let face = Typeface::new();
    let boxes: Vec<Area> = drawing
        .elements
        .iter()
        .filter_map(|element| match element {
            DrawingElement::Text(text) if text.content.starts_with("sample ") => {
                Some(around([text.at[0], text.at[1] - 4.0], face.width(&text.content, text.size), text.size))
            }
            _ => None,
        })
        .collect();
    assert!(boxes.len() > 5, "{}", boxes.len());
    for (i, a) in boxes.iter().enumerate() {
        assert!(a.left >= FRAME_LEFT && a.right <= FRAME_RIGHT && a.top >= FRAME_TOP);
        let disjoint = |b: &Area| a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom;
        assert!(boxes[..i].iter().all(disjoint));
    }
}
