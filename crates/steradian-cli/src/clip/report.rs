//! The report of a clip: one page that needs nothing else, with a player, a timeline and the numbers.

use serde_json::{Value, json};
use steradian::{Model, Result, Source};
use steradian_clips::Separated;
use steradian_io::{Clip, Color, Image};

use super::frame_renderer::RenderedFrame;
use super::html::{facts_table, page};
use super::videos::TINT;
use crate::encode_image::{base64, jpeg, png};

/// Frames that the player has, at most.
const SAMPLES: usize = 48;
/// The longest side of a picture in the page.
const SIDE: usize = 360;
const QUALITY: u8 = 80;
/// Points of the timeline, at most.
const POINTS: usize = 2000;

const SCRIPT: &str = include_str!("html/script.js");

/// What the page is made of, gathered frame by frame.
pub struct Report {
    frames: usize,
    shown: Vec<usize>,
    size: (usize, usize),
    page_size: (usize, usize),
    samples: Vec<Value>,
    angles: Vec<f64>,
    shares: Vec<f64>,
}

impl Report {
    /// For a clip of which no frame was seen yet.
    pub fn new(clip: &Clip) -> Self {
        let (frames, size) = (clip.shape().samples, clip.size());
        let count = frames.min(SAMPLES);
        let factor = (SIDE as f64 / size.0.max(size.1) as f64).min(1.0);
        let side = |side: usize| ((side as f64 * factor).round() as usize).max(1);
        Self {
            frames,
            shown: (0..count).map(|i| i * frames / count).collect(),
            size,
            page_size: (side(size.0), side(size.1)),
            samples: Vec::new(),
            angles: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// Adds the next frame.
    pub fn add(&mut self, index: usize, number: u64, parts: &Separated, shown: &RenderedFrame<'_>) -> Result<()> {
        self.angles.push(parts.angle_degrees);
        self.shares.push(parts.foreground_share());
        if !self.shown.contains(&index) {
            return Ok(());
        }
        let mask: Vec<u8> = parts.mask.iter().map(|&moving| 255 * u8::from(moving)).collect();
        let whole_or_not: Vec<u8> =
            self.small(&mask, Color::Gray).iter().map(|&x| if x > 127 { 255 } else { 0 }).collect();
        let mask = base64(&png(&whole_or_not, self.page_size, Color::Gray)?);
        let sample = json!({
            "index": index,
            "number": number,
            "frame": self.jpeg(&shown.frame, shown.color)?,
            "background": self.jpeg(&shown.background, shown.color)?,
            "mask": format!("data:image/png;base64,{mask}"),
        });
        self.samples.push(sample);
        Ok(())
    }

    fn small(&self, pixels: &[u8], color: Color) -> Vec<u8> {
        let picture = Image { height: self.size.0, width: self.size.1, color, pixels: pixels.to_vec() };
        picture.shrunk(self.page_size).pixels
    }

    /// A picture for the page, as an address.
    fn jpeg(&self, pixels: &[u8], color: Color) -> Result<String> {
        let bytes = jpeg(&self.small(pixels, color), self.page_size, color, QUALITY)?;
        Ok(format!("data:image/jpeg;base64,{}", base64(&bytes)))
    }

    /// The page: a title, the model, the first frame it was learnt from (if it was, here), and rows of a name and what it is.
    pub fn html(
        &self,
        title: &str,
        model: &Model,
        learnt: Option<usize>,
        clip: &Clip,
        facts: &[(&str, String)],
    ) -> Result<String> {
        let data = json!({
            "width": self.page_size.1,
            "height": self.page_size.0,
            "frames": self.frames,
            "first": clip.number(0),
            "last": clip.number(self.frames - 1),
            "samples": self.samples,
            "angles": largest_of_stretches(&self.angles),
            "shares": largest_of_stretches(&self.shares),
            "kept": self.kept(model, learnt),
            "cone": model.cone.as_ref().map(|cone| cone.angle_degrees),
            "tint": TINT,
        });
        // A name with a tag in it must not end the element that holds the data.
        let data = data.to_string().replace('<', "\\u003c");
        let last = self.samples.len().saturating_sub(1);
        let panes: String = ["frame", "background", "foreground", "overlay"]
            .iter()
            .map(|id| {
                let (height, width) = self.page_size;
                format!(
                    "<figure><canvas id=\"{id}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{id}\"></canvas>\
                     <figcaption>{id}</figcaption></figure>\n"
                )
            })
            .collect();
        let body = format!(
            "<noscript><p>The player needs scripts; the pictures are in the folder beside this page, too.</p></noscript>\n\
             <div class=\"slide\"><label for=\"slider\">frame</label><input id=\"slider\" type=\"range\" min=\"0\" max=\"{last}\" value=\"0\">\
             <output id=\"shown\" for=\"slider\"></output></div>\n<div class=\"panes\">\n{panes}</div>\n\
             <h2>Over time</h2>\n<div id=\"timeline\"></div>\n\
             <p class=\"note\">The angle of each frame to its background, seen from the center, and the share of its pixels that are \
             foreground. The strip below marks frames that the model was learnt from; those it trimmed are in the colour of the area. \
             A click moves the player to the nearest frame that the page holds.</p>\n\
             <h2>Angles</h2>\n<div id=\"histogram\"></div>\n\
             <h2>Components</h2>\n<div class=\"panes\">\n{}</div>\n\
             <p class=\"note\">The ways in which the background changes; middle gray is no change.</p>\n\
             <h2>Settings and outcome</h2>\n{}\
             <script id=\"data\" type=\"application/json\">{data}</script>\n<script>\n{SCRIPT}</script>\n",
            self.components(model)?,
            facts_table(facts)
        );
        Ok(page(title, &body))
    }

    /// For each stretch of frames: kept or trimmed in learning, or null where nothing was learnt.
    fn kept(&self, model: &Model, learnt: Option<usize>) -> Vec<Value> {
        let Some(first) = learnt else { return Vec::new() };
        let points = self.frames.min(POINTS);
        let state = |point: usize| {
            let stretch = point * self.frames / points
                ..((point + 1) * self.frames / points).max(point * self.frames / points + 1);
            let states: Vec<bool> =
                stretch.filter_map(|frame| model.support.get(frame.checked_sub(first)?).copied()).collect();
            match states.as_slice() {
                [] => Value::Null,
                states if states.iter().any(|&kept| kept) => json!("kept"),
                _ => json!("trimmed"),
            }
        };
        (0..points).map(state).collect()
    }

    fn components(&self, model: &Model) -> Result<String> {
        let figure = |k: usize| -> Result<String> {
            let row = model.components.row(k);
            let largest = row.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
            let levels: Vec<u8> = row.iter().map(|x| (128.0 + 127.0 * x / largest).round() as u8).collect();
            let picture = self.jpeg(&levels, Color::Gray)?;
            Ok(format!(
                "<figure><img alt=\"component {k}\" src=\"{picture}\"><figcaption>component {k}</figcaption></figure>\n"
            ))
        };
        (0..model.n_components()).map(figure).collect()
    }
}

/// At most [`POINTS`] numbers, each the largest of a stretch.
fn largest_of_stretches(values: &[f64]) -> Vec<f64> {
    let points = values.len().min(POINTS);
    let stretch = |point: usize| &values[point * values.len() / points..(point + 1) * values.len() / points];
    // Four digits are more than a screen shows.
    let largest = |values: &[f64]| (values.iter().copied().fold(0.0, f64::max) * 1e4).round() / 1e4;
    (0..points).map(|point| largest(stretch(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clips_keep_their_peaks() {
        let mut values = vec![0.0; 3 * POINTS + 7];
        values[1234] = 5.0;
        let short = largest_of_stretches(&values);
        assert_eq!((short.len(), short.iter().filter(|&&x| x == 5.0).count()), (POINTS, 1));
        assert_eq!(largest_of_stretches(&[1.0, 2.0]), [1.0, 2.0]);
    }
}
