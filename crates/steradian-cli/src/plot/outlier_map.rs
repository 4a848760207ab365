//! The outlier map: score distance across, orthogonal distance up, cutoffs dashed, the worst samples by name.

use std::collections::BTreeMap;

use steradian::{Diagnosis, Flag};

use super::axis::Axis;
use super::drawing::{Anchor, Color, Drawing, Element, MARK, Mark, Place, Text};
use super::font::Typeface;
use super::labels::{Area, Labels, around};

/// What is drawn.
#[derive(Debug)]
pub struct OutlierMap<'a> {
    /// Every sample, in data order.
    pub samples: &'a [Diagnosis],
    /// Of score distance and orthogonal distance; not a number where there is none.
    pub cutoffs: [f64; 2],
    /// Samples that are named, the most important first.
    pub labels: &'a [(usize, String)],
    /// What stands above.
    pub title: &'a str,
}

/// More samples than this are drawn as density.
const MOST_MARKS: usize = 50_000;
/// Side of the squares of a density.
const TILE: f64 = 4.0;
/// Shades of a density.
const SHADES: usize = 5;
/// Marks that labels keep clear of at most.
const MOST_AVOIDED: usize = 2000;
/// Characters of a label at most.
const LONGEST_LABEL: usize = 24;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 620.0;
/// Of a map without orthogonal distances.
const STRIP_HEIGHT: f64 = 280.0;
const FRAME_LEFT: f64 = 84.0;
const FRAME_TOP: f64 = 84.0;
const FRAME_RIGHT: f64 = WIDTH - 28.0;
const FRAME_BELOW: f64 = 64.0;

const INK: Color = [38, 38, 38];
const FAINT: Color = [110, 110, 110];
const GRID: Color = [232, 232, 232];

/// Form and color of a flag: Okabe and Ito's palette, which color-blind readers tell apart, and a form for each.
fn look(flag: Flag) -> (Mark, Color, &'static str) {
    match flag {
        Flag::Regular => (Mark::Circle, [125, 125, 125], "regular"),
        Flag::GoodLeverage => (Mark::Square, [0, 114, 178], "good leverage"),
        Flag::Orthogonal => (Mark::Triangle, [230, 159, 0], "orthogonal"),
        Flag::BadLeverage => (Mark::Diamond, [213, 94, 0], "bad leverage"),
    }
}

impl OutlierMap<'_> {
    /// The picture.
    pub fn scene(&self) -> Drawing {
        let typeface = Typeface::new();
        let frame = self.frame();
        let axes = self.axes();
        let mut shapes = self.grid(&frame, &axes);
        shapes.extend(self.heading(&typeface));
        let places = self.places(&frame, &axes);
        shapes.extend(self.samples_drawn(&places));
        shapes.extend(self.cutoff_lines(&frame, &axes));
        shapes.extend(self.names(&typeface, frame, &axes, &places));
        let height = if self.is_strip() { STRIP_HEIGHT } else { HEIGHT };
        Drawing { width: WIDTH, height, title: self.title.to_string(), shapes }
    }

    /// Without a cutoff of the orthogonal distance the subspace holds every sample: there is one distance to show.
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

    /// Where each sample is; none where a distance is not finite.
    fn places(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<Option<Place>> {
        let place = |(i, sample): (usize, &Diagnosis)| {
            Self::finite(sample).then(|| {
                let up = match self.is_strip() {
                    // Spread evenly over the strip, so that equal distances do not hide each other.
                    true => 0.15 + 0.7 * (i as f64 * 0.618_033_988_749_895).fract(),
                    false => axes[1].share(sample.orthogonal_distance),
                };
                [across(frame, axes[0].share(sample.score_distance)), upwards(frame, up)]
            })
        };
        self.samples.iter().enumerate().map(place).collect()
    }

    fn grid(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<Element> {
        let mut shapes = Vec::new();
        for tick in axes[0].ticks() {
            let x = across(frame, tick.share);
            if let Some(name) = tick.name {
                shapes.push(line([x, frame.top], [x, frame.bottom], 1.0, GRID));
                shapes.push(words([x, frame.bottom + 19.0], 12.0, INK, Anchor::Middle, name));
            }
            shapes.push(line([x, frame.bottom], [x, frame.bottom + 4.0], 1.0, FAINT));
        }
        for tick in axes[1].ticks().into_iter().filter(|_| !self.is_strip()) {
            let y = upwards(frame, tick.share);
            if let Some(name) = tick.name {
                shapes.push(line([frame.left, y], [frame.right, y], 1.0, GRID));
                shapes.push(words([frame.left - 9.0, y + 4.0], 12.0, INK, Anchor::End, name));
            }
            shapes.push(line([frame.left - 4.0, y], [frame.left, y], 1.0, FAINT));
        }
        shapes.push(line([frame.left, frame.bottom], [frame.right, frame.bottom], 1.2, INK));
        let logarithmic = |axis: &Axis| if axis.is_logarithmic() { ", logarithmic" } else { "" };
        let middle = (frame.left + frame.right) / 2.0;
        let title = format!("score distance{}", logarithmic(&axes[0]));
        shapes.push(words([middle, frame.bottom + 46.0], 13.5, INK, Anchor::Middle, title));
        if self.is_strip() {
            let note = "the subspace holds every sample: no orthogonal distance".to_string();
            shapes.push(words([frame.right, frame.bottom + 46.0], 11.5, FAINT, Anchor::End, note));
        } else {
            shapes.push(line([frame.left, frame.top], [frame.left, frame.bottom], 1.2, INK));
            let title = format!("orthogonal distance{}", logarithmic(&axes[1]));
            let at = [24.0, (frame.top + frame.bottom) / 2.0];
            let Element::Text(text) = words(at, 13.5, INK, Anchor::Middle, title) else {
                unreachable!("words are text")
            };
            shapes.push(Element::Text(Text { upright: true, ..text }));
        }
        shapes
    }

    /// Title and legend.
    fn heading(&self, typeface: &Typeface) -> Vec<Element> {
        let title = shortened(self.title, 100);
        let mut shapes = vec![words([FRAME_LEFT, 34.0], 17.0, INK, Anchor::Start, title)];
        let mut x = FRAME_LEFT + MARK;
        for flag in Flag::ALL {
            let (mark, color, name) = look(flag);
            let count = self.samples.iter().filter(|sample| sample.flag == flag).count();
            let (ink, opacity) = if count == 0 { (FAINT, 0.35) } else { (INK, 1.0) };
            let name = format!("{name} {count}");
            shapes.push(Element::Marks { mark, color, opacity, places: vec![[x, 57.0]] });
            let width = typeface.width(&name, 12.5);
            shapes.push(words([x + 10.0, 61.5], 12.5, ink, Anchor::Start, name));
            x += 10.0 + width + 26.0;
        }
        let unseen = self.samples.iter().filter(|sample| !Self::finite(sample)).count();
        if unseen > 0 {
            let note = format!("{unseen} not drawn: a distance is not finite");
            shapes.push(words([FRAME_RIGHT, 61.5], 11.5, FAINT, Anchor::End, note));
        }
        shapes
    }

    /// Marks, or squares of density when there are many samples; the worst on top.
    fn samples_drawn(&self, places: &[Option<Place>]) -> Vec<Element> {
        let of = |flag: Flag| -> Vec<Place> {
            let same = self.samples.iter().zip(places).filter(|(sample, _)| sample.flag == flag);
            same.filter_map(|(_, place)| *place).collect()
        };
        let dense = self.samples.len() > MOST_MARKS;
        let draw = |flag: Flag| {
            let (mark, color, _) = look(flag);
            let opacity = if flag == Flag::Regular { 0.55 } else { 0.85 };
            match dense {
                true => tiles(&of(flag), color),
                false => vec![Element::Marks { mark, color, opacity, places: of(flag) }],
            }
        };
        let mut shapes: Vec<Element> = Flag::ALL.into_iter().flat_map(draw).collect();
        if dense {
            // Within a density a name needs a mark to stand beside.
            let named = self.labels.iter().filter_map(|(i, _)| Some((self.samples.get(*i)?.flag, places[*i]?)));
            shapes.extend(named.map(|(flag, place)| {
                let (mark, color, _) = look(flag);
                Element::Marks { mark, color: color.map(|c| c / 2), opacity: 1.0, places: vec![place] }
            }));
        }
        shapes
    }

    fn cutoff_lines(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<Element> {
        let dashed = |from, to| Element::Line { from, to, width: 1.3, color: INK, dashed: true };
        let mut shapes = Vec::new();
        for (text, line) in self.cutoff_words(frame, axes) {
            shapes.push(dashed(line[0], line[1]));
            shapes.push(Element::Text(text));
        }
        shapes
    }

    /// The words beside each cutoff and the ends of its line.
    fn cutoff_words(&self, frame: &Area, axes: &[Axis; 2]) -> Vec<(Text, [Place; 2])> {
        let mut found = Vec::new();
        let text = |at, anchor, cutoff: f64| Text {
            at,
            size: 11.0,
            color: INK,
            anchor,
            upright: false,
            words: format!("cutoff {}", crate::render::number(cutoff)),
        };
        if !self.cutoffs[0].is_nan() {
            let x = across(frame, axes[0].share(self.cutoffs[0]));
            // Above the frame, where no sample can be.
            found.push((
                text([x, frame.top - 5.0], Anchor::Middle, self.cutoffs[0]),
                [[x, frame.top], [x, frame.bottom]],
            ));
        }
        if !self.cutoffs[1].is_nan() {
            let y = upwards(frame, axes[1].share(self.cutoffs[1]));
            // At the end that the other cutoff's line is far from.
            let crowded = !self.cutoffs[0].is_nan() && axes[0].share(self.cutoffs[0]) > 0.85;
            let (x, anchor) = if crowded { (frame.left + 4.0, Anchor::Start) } else { (frame.right, Anchor::End) };
            found.push((text([x, y - 5.0], anchor, self.cutoffs[1]), [[frame.left, y], [frame.right, y]]));
        }
        found
    }

    /// The marks that labels had better not cover; of very many flagged samples some will be.
    fn flagged_marks(&self, places: &[Option<Place>]) -> Vec<Area> {
        let flagged = self.samples.iter().zip(places).filter(|(sample, _)| sample.flag != Flag::Regular);
        flagged.filter_map(|(_, place)| Some(around((*place)?, 2.0 * MARK, 2.0 * MARK))).take(MOST_AVOIDED).collect()
    }

    /// Labels beside their samples, each with a line to its mark when it is not next to it.
    fn names(&self, typeface: &Typeface, frame: Area, axes: &[Axis; 2], places: &[Option<Place>]) -> Vec<Element> {
        const SIZE: f64 = 11.5;
        let labelled: Vec<(Place, String)> = self
            .labels
            .iter()
            .filter_map(|(sample, name)| {
                Some((places.get(*sample).copied().flatten()?, shortened(name, LONGEST_LABEL)))
            })
            .collect();
        let mut taken: Vec<Area> = labelled.iter().map(|(place, _)| around(*place, 2.0 * MARK, 2.0 * MARK)).collect();
        let mut avoided = self.flagged_marks(places);
        for (text, [from, to]) in self.cutoff_words(&frame, axes) {
            avoided.push(Area { left: from[0] - 2.0, top: from[1] - 2.0, right: to[0] + 2.0, bottom: to[1] + 2.0 });
            let width = typeface.width(&text.words, text.size);
            let middle = match text.anchor {
                Anchor::Start => text.at[0] + width / 2.0,
                Anchor::Middle => text.at[0],
                Anchor::End => text.at[0] - width / 2.0,
            };
            taken.push(around([middle, text.at[1] - 4.0], width, text.size + 2.0));
        }
        let mut labels = Labels::new(frame, taken, avoided);
        let mut shapes = Vec::new();
        for (place, name) in labelled {
            let width = typeface.width(&name, SIZE);
            let Some(middle) = labels.place(place, width + 2.0, SIZE + 1.0) else { continue };
            let end = [
                place[0].clamp(middle[0] - width / 2.0, middle[0] + width / 2.0),
                place[1].clamp(middle[1] - SIZE / 2.0, middle[1] + SIZE / 2.0),
            ];
            if (end[0] - place[0]).hypot(end[1] - place[1]) > MARK + 6.0 {
                shapes.push(line(place, end, 0.7, FAINT));
            }
            shapes.push(words([middle[0], middle[1] + 0.36 * SIZE], SIZE, INK, Anchor::Middle, name));
        }
        shapes
    }
}

fn across(frame: &Area, share: f64) -> f64 {
    frame.left + share * (frame.right - frame.left)
}

fn upwards(frame: &Area, share: f64) -> f64 {
    frame.bottom - share * (frame.bottom - frame.top)
}

fn line(from: Place, to: Place, width: f64, color: Color) -> Element {
    Element::Line { from, to, width, color, dashed: false }
}

fn words(at: Place, size: f64, color: Color, anchor: Anchor, words: String) -> Element {
    Element::Text(Text { at, size, color, anchor, upright: false, words })
}

fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// Squares that hold points, darker where there are more, by powers.
fn tiles(places: &[Place], color: Color) -> Vec<Element> {
    let mut counts: BTreeMap<[i32; 2], usize> = BTreeMap::new();
    for place in places {
        *counts.entry(place.map(|x| (x / TILE).floor() as i32)).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(1).max(2) as f64;
    let mut shades = vec![Vec::new(); SHADES];
    for (tile, count) in counts {
        let shade = (count as f64).ln() / most.ln() * SHADES as f64;
        shades[(shade as usize).min(SHADES - 1)].push(tile.map(|x| f64::from(x) * TILE));
    }
    let shape = |(shade, corners): (usize, Vec<Place>)| {
        // A tile with a single point must still be seen.
        let opacity = 0.35 + 0.65 * shade as f64 / (SHADES - 1) as f64;
        Element::Tiles { side: TILE, color, opacity, corners }
    };
    shades.into_iter().enumerate().filter(|(_, corners)| !corners.is_empty()).map(shape).collect()
}

#[cfg(test)]
mod tests;
