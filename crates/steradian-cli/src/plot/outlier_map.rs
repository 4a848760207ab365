//! The outlier map: orthogonal distance over score distance, with cutoffs as dashed lines and labels of extreme samples.

use std::collections::BTreeMap;

use steradian::model::{Diagnosis, Flag};

use super::axis::Axis;
use super::drawing::{Anchor, Drawing, DrawingElement, MARK_RADIUS, Mark, Position, RgbColor, Text};
use super::font::Typeface;
use super::labels::{Area, Labels, around};

/// Content of an outlier map.
#[derive(Debug)]
pub struct OutlierMap<'a> {
    /// Every sample, in data order.
    pub samples: &'a [Diagnosis],
    /// Cutoffs of score distance and orthogonal distance; NaN if there is none.
    pub cutoffs: [f64; 2],
    /// Labels by sample index, the most important first.
    pub labels: &'a [(usize, String)],
    /// Title above the plot.
    pub title: &'a str,
}

/// Largest number of samples that are drawn as marks; more are drawn as a density.
const MAX_MARKS: usize = 50_000;
/// Side length of the squares of a density.
const TILE: f64 = 4.0;
/// Number of shades of a density.
const SHADES: usize = 5;
/// Largest number of marks that labels avoid.
const MAX_AVOIDED: usize = 2000;
/// Largest number of characters of a label.
const MAX_LABEL: usize = 24;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 620.0;
/// Height of a map without orthogonal distances.
const STRIP_HEIGHT: f64 = 280.0;
const FRAME_LEFT: f64 = 84.0;
const FRAME_TOP: f64 = 84.0;
const FRAME_RIGHT: f64 = WIDTH - 28.0;
const FRAME_BELOW: f64 = 64.0;

pub(super) const INK: RgbColor = [38, 38, 38];
pub(super) const FAINT: RgbColor = [110, 110, 110];
const GRID: RgbColor = [232, 232, 232];

/// Mark, color and name of a flag. The palette of Okabe and Ito is readable for color-blind readers.
pub(super) fn style(flag: Flag) -> (Mark, RgbColor, &'static str) {
    match flag {
        Flag::Regular => (Mark::Circle, [125, 125, 125], "regular"),
        Flag::GoodLeverage => (Mark::Square, [0, 114, 178], "good leverage"),
        Flag::Orthogonal => (Mark::Triangle, [230, 159, 0], "orthogonal"),
        Flag::BadLeverage => (Mark::Diamond, [213, 94, 0], "bad leverage"),
    }
}

impl OutlierMap<'_> {
    /// The drawing.
    pub fn drawing(&self) -> Drawing {
        let typeface = Typeface::new();
        let frame = self.frame();
        let axes = self.axes();
        let mut elements = self.grid(&frame, &axes);
        elements.extend(self.heading(&typeface));
        let points = self.points(&frame, &axes);
        elements.extend(self.marks(&points));
        elements.extend(self.cutoff_lines(&frame, &axes));
        elements.extend(self.sample_labels(&typeface, frame, &axes, &points));
        let height = if self.is_strip() { STRIP_HEIGHT } else { HEIGHT };
        Drawing { width: WIDTH, height, title: self.title.to_string(), elements }
    }

    /// True if there is no cutoff of the orthogonal distance: the subspace contains every sample.
    fn is_strip(&self) -> bool {
        self.cutoffs[1].is_nan()
    }

    fn frame(&self) -> Area {
        let height = if self.is_strip() { STRIP_HEIGHT } else { HEIGHT };
        Area { left: FRAME_LEFT, top: FRAME_TOP, right: FRAME_RIGHT, bottom: height - FRAME_BELOW }
    }

    fn finite(sample: &Diagnosis) -> bool {
        sample.score_distance.is_finite() && sample.orthogonal_distance.is_finite()
    }

    fn axes(&self) -> [Axis; 2] {
        let drawn = || self.samples.iter().filter(|sample| Self::finite(sample));
        [
            Axis::new(drawn().map(|sample| sample.score_distance), self.cutoffs[0]),
            Axis::new(drawn().map(|sample| sample.orthogonal_distance), self.cutoffs[1]),
        ]
    }

    /// Point of each sample; `None` if a distance is not finite.
    fn points(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<Option<Position>> {
        let point = |(i, sample): (usize, &Diagnosis)| {
            Self::finite(sample).then(|| {
                let up = match self.is_strip() {
                    // Spread over the strip, so that equal distances do not cover each other.
                    true => 0.15 + 0.7 * (i as f64 * 0.618_033_988_749_895).fract(),
                    false => axes[1].position(sample.orthogonal_distance),
                };
                [across(frame, axes[0].position(sample.score_distance)), upwards(frame, up)]
            })
        };
        self.samples.iter().enumerate().map(point).collect()
    }

    fn grid(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<DrawingElement> {
        let mut elements = Vec::new();
        for tick in axes[0].ticks() {
            let x = across(frame, tick.position);
            if let Some(name) = tick.label {
                elements.push(line([x, frame.top], [x, frame.bottom], 1.0, GRID));
                elements.push(label([x, frame.bottom + 19.0], 12.0, INK, Anchor::Middle, name));
            }
            elements.push(line([x, frame.bottom], [x, frame.bottom + 4.0], 1.0, FAINT));
        }
        for tick in axes[1].ticks().into_iter().filter(|_| !self.is_strip()) {
            let y = upwards(frame, tick.position);
            if let Some(name) = tick.label {
                elements.push(line([frame.left, y], [frame.right, y], 1.0, GRID));
                elements.push(label([frame.left - 9.0, y + 4.0], 12.0, INK, Anchor::End, name));
            }
            elements.push(line([frame.left - 4.0, y], [frame.left, y], 1.0, FAINT));
        }
        elements.push(line([frame.left, frame.bottom], [frame.right, frame.bottom], 1.2, INK));
        let logarithmic = |axis: &Axis| if axis.is_logarithmic() { ", logarithmic" } else { "" };
        let middle = (frame.left + frame.right) / 2.0;
        let title = format!("score distance{}", logarithmic(&axes[0]));
        elements.push(label([middle, frame.bottom + 46.0], 13.5, INK, Anchor::Middle, title));
        if self.is_strip() {
            let note = "the subspace contains every sample: no orthogonal distance".to_string();
            elements.push(label([frame.right, frame.bottom + 46.0], 11.5, FAINT, Anchor::End, note));
        } else {
            elements.push(line([frame.left, frame.top], [frame.left, frame.bottom], 1.2, INK));
            let title = format!("orthogonal distance{}", logarithmic(&axes[1]));
            let at = [24.0, (frame.top + frame.bottom) / 2.0];
            let DrawingElement::Text(text) = label(at, 13.5, INK, Anchor::Middle, title) else {
                unreachable!("label returns text")
            };
            elements.push(DrawingElement::Text(Text { vertical: true, ..text }));
        }
        elements
    }

    /// Title and legend.
    fn heading(&self, typeface: &Typeface) -> Vec<DrawingElement> {
        let title = truncated(self.title, 100);
        let mut elements = vec![label([FRAME_LEFT, 34.0], 17.0, INK, Anchor::Start, title)];
        let mut x = FRAME_LEFT + MARK_RADIUS;
        for flag in Flag::ALL {
            let (mark, color, name) = style(flag);
            let count = self.samples.iter().filter(|sample| sample.flag == flag).count();
            let (ink, opacity) = if count == 0 { (FAINT, 0.35) } else { (INK, 1.0) };
            let name = format!("{name} {count}");
            elements.push(DrawingElement::Marks { mark, color, opacity, points: vec![[x, 57.0]] });
            let width = typeface.width(&name, 12.5);
            elements.push(label([x + 10.0, 61.5], 12.5, ink, Anchor::Start, name));
            x += 10.0 + width + 26.0;
        }
        let not_drawn = self.samples.iter().filter(|sample| !Self::finite(sample)).count();
        if not_drawn > 0 {
            let note = format!("{not_drawn} not drawn: a distance is not finite");
            elements.push(label([FRAME_RIGHT, 61.5], 11.5, FAINT, Anchor::End, note));
        }
        elements
    }

    /// Marks of the samples, or a density of many samples; outliers on top.
    fn marks(&self, points: &[Option<Position>]) -> Vec<DrawingElement> {
        let of = |flag: Flag| -> Vec<Position> {
            let same = self.samples.iter().zip(points).filter(|(sample, _)| sample.flag == flag);
            same.filter_map(|(_, point)| *point).collect()
        };
        let dense = self.samples.len() > MAX_MARKS;
        let draw = |flag: Flag| {
            let (mark, color, _) = style(flag);
            let opacity = if flag == Flag::Regular { 0.55 } else { 0.85 };
            match dense {
                true => tiles(&of(flag), color),
                false => vec![DrawingElement::Marks { mark, color, opacity, points: of(flag) }],
            }
        };
        let mut elements: Vec<DrawingElement> = Flag::ALL.into_iter().flat_map(draw).collect();
        if dense {
            // In a density, a labeled sample needs its own mark.
            let named = self.labels.iter().filter_map(|(i, _)| Some((self.samples.get(*i)?.flag, points[*i]?)));
            elements.extend(named.map(|(flag, point)| {
                let (mark, color, _) = style(flag);
                DrawingElement::Marks { mark, color: color.map(|c| c / 2), opacity: 1.0, points: vec![point] }
            }));
        }
        elements
    }

    fn cutoff_lines(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<DrawingElement> {
        let dashed = |from, to| DrawingElement::Line { from, to, width: 1.3, color: INK, dashed: true };
        let mut elements = Vec::new();
        for (text, line) in self.cutoff_labels(frame, axes) {
            elements.push(dashed(line[0], line[1]));
            elements.push(DrawingElement::Text(text));
        }
        elements
    }

    /// Label and line of each cutoff.
    fn cutoff_labels(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<(Text, [Position; 2])> {
        let mut labels = Vec::new();
        let text = |at, anchor, cutoff: f64| Text {
            at,
            size: 11.0,
            color: INK,
            anchor,
            vertical: false,
            content: format!("cutoff {}", crate::render::number(cutoff)),
        };
        if !self.cutoffs[0].is_nan() {
            let x = across(frame, axes[0].position(self.cutoffs[0]));
            // Above the frame, where no sample is drawn.
            labels.push((
                text([x, frame.top - 5.0], Anchor::Middle, self.cutoffs[0]),
                [[x, frame.top], [x, frame.bottom]],
            ));
        }
        if !self.cutoffs[1].is_nan() {
            let y = upwards(frame, axes[1].position(self.cutoffs[1]));
            // At the end of the line that is farther from the line of the other cutoff.
            let crowded = !self.cutoffs[0].is_nan() && axes[0].position(self.cutoffs[0]) > 0.85;
            let (x, anchor) = if crowded { (frame.left + 4.0, Anchor::Start) } else { (frame.right, Anchor::End) };
            labels.push((text([x, y - 5.0], anchor, self.cutoffs[1]), [[frame.left, y], [frame.right, y]]));
        }
        labels
    }

    /// Areas of flagged marks, which labels avoid; at most [`MAX_AVOIDED`].
    fn flagged_marks(&self, points: &[Option<Position>]) -> Vec<Area> {
        let flagged = self.samples.iter().zip(points).filter(|(sample, _)| sample.flag != Flag::Regular);
        flagged
            .filter_map(|(_, point)| Some(around((*point)?, 2.0 * MARK_RADIUS, 2.0 * MARK_RADIUS)))
            .take(MAX_AVOIDED)
            .collect()
    }

    /// Labels beside their samples, with a line to the mark if the label is not adjacent.
    fn sample_labels(
        &self,
        typeface: &Typeface,
        frame: Area,
        axes: &[Axis; 2],
        points: &[Option<Position>],
    ) -> Vec<DrawingElement> {
        const SIZE: f64 = 11.5;
        let labeled: Vec<(Position, String)> = self
            .labels
            .iter()
            .filter_map(|(sample, name)| Some((points.get(*sample).copied().flatten()?, truncated(name, MAX_LABEL))))
            .collect();
        let mut taken: Vec<Area> =
            labeled.iter().map(|(point, _)| around(*point, 2.0 * MARK_RADIUS, 2.0 * MARK_RADIUS)).collect();
        let mut avoided = self.flagged_marks(points);
        for (text, [from, to]) in self.cutoff_labels(&frame, axes) {
            avoided.push(Area { left: from[0] - 2.0, top: from[1] - 2.0, right: to[0] + 2.0, bottom: to[1] + 2.0 });
            let width = typeface.width(&text.content, text.size);
            let middle = match text.anchor {
                Anchor::Start => text.at[0] + width / 2.0,
                Anchor::Middle => text.at[0],
                Anchor::End => text.at[0] - width / 2.0,
            };
            taken.push(around([middle, text.at[1] - 4.0], width, text.size + 2.0));
        }
        let mut labels = Labels::new(frame, taken, avoided);
        let mut elements = Vec::new();
        for (point, name) in labeled {
            let width = typeface.width(&name, SIZE);
            let Some(middle) = labels.place(point, width + 2.0, SIZE + 1.0) else { continue };
            let end = [
                point[0].clamp(middle[0] - width / 2.0, middle[0] + width / 2.0),
                point[1].clamp(middle[1] - SIZE / 2.0, middle[1] + SIZE / 2.0),
            ];
            if (end[0] - point[0]).hypot(end[1] - point[1]) > MARK_RADIUS + 6.0 {
                elements.push(line(point, end, 0.7, FAINT));
            }
            elements.push(label([middle[0], middle[1] + 0.36 * SIZE], SIZE, INK, Anchor::Middle, name));
        }
        elements
    }
}

fn across(frame: &Area, position: f64) -> f64 {
    frame.left + position * (frame.right - frame.left)
}

fn upwards(frame: &Area, position: f64) -> f64 {
    frame.bottom - position * (frame.bottom - frame.top)
}

pub(super) fn line(from: Position, to: Position, width: f64, color: RgbColor) -> DrawingElement {
    DrawingElement::Line { from, to, width, color, dashed: false }
}

pub(super) fn label(at: Position, size: f64, color: RgbColor, anchor: Anchor, content: String) -> DrawingElement {
    DrawingElement::Text(Text { at, size, color, anchor, vertical: false, content })
}

/// Text truncated to `most` characters.
pub(super) fn truncated(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// Squares of a density, darker for more samples on a logarithmic scale.
fn tiles(points: &[Position], color: RgbColor) -> Vec<DrawingElement> {
    let mut counts: BTreeMap<[i32; 2], usize> = BTreeMap::new();
    for point in points {
        *counts.entry(point.map(|x| (x / TILE).floor() as i32)).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(1).max(2) as f64;
    let mut shades = vec![Vec::new(); SHADES];
    for (tile, count) in counts {
        let shade = (count as f64).ln() / most.ln() * SHADES as f64;
        shades[(shade as usize).min(SHADES - 1)].push(tile.map(|x| f64::from(x) * TILE));
    }
    let shape = |(shade, corners): (usize, Vec<Position>)| {
        // A tile with a single sample must remain visible.
        let opacity = 0.35 + 0.65 * shade as f64 / (SHADES - 1) as f64;
        DrawingElement::Tiles { size: [TILE; 2], color, opacity, corners }
    };
    shades.into_iter().enumerate().filter(|(_, corners)| !corners.is_empty()).map(shape).collect()
}

#[cfg(test)]
mod tests;
