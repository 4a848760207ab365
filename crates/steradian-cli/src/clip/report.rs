//! Report of a clip: a self-contained HTML page with a player, a timeline and a table of figures.

use serde_json::{Value, json};
use steradian::{Model, Result, Source};
use steradian_clips::Separated;
use steradian_io::{Clip, Color, Image};

use super::frame_renderer::RenderedFrame;
use super::html::{key_value_table, page};
use super::videos::TINT;
use crate::encode_image::{base64, jpeg, png};

/// Largest number of frames in the player.
const PLAYER_FRAMES: usize = 48;
/// Longest side of an image in the page, in pixels.
const SIDE: usize = 360;
/// JPEG quality of images in the page, from 1 to 100.
const QUALITY: u8 = 80;
/// Largest number of points of the timeline.
const POINTS: usize = 2000;

const SCRIPT: &str = include_str!("html/script.js");

/// Content of the page, built frame by frame.
pub struct Report {
    frames: usize,
    /// Indices of the frames in the player.
    shown: Vec<usize>,
    size: (usize, usize),
    page_size: (usize, usize),
    samples: Vec<Value>,
    angles: Vec<f64>,
    foreground: Vec<f64>,
}

impl Report {
    /// A report without frames.
    pub fn new(clip: &Clip) -> Self {
        let (frames, size) = (clip.shape().samples, clip.dimensions());
        let count = frames.min(PLAYER_FRAMES);
        let factor = (SIDE as f64 / size.0.max(size.1) as f64).min(1.0);
        let side = |side: usize| ((side as f64 * factor).round() as usize).max(1);
        Self {
            frames,
            shown: (0..count).map(|i| i * frames / count).collect(),
            size,
            page_size: (side(size.0), side(size.1)),
            samples: Vec::new(),
            angles: Vec::new(),
            foreground: Vec::new(),
        }
    }

    /// Adds the next frame.
    pub fn add(&mut self, index: usize, number: u64, parts: &Separated, rendered: &RenderedFrame<'_>) -> Result<()> {
        self.angles.push(parts.angle_degrees);
        self.foreground.push(parts.foreground_fraction());
        if !self.shown.contains(&index) {
            return Ok(());
        }
        let mask: Vec<u8> = parts.mask.iter().map(|&is_foreground| 255 * u8::from(is_foreground)).collect();
        let binary: Vec<u8> = self.small(&mask, Color::Gray).iter().map(|&x| if x > 127 { 255 } else { 0 }).collect();
        let mask = base64(&png(&binary, self.page_size, Color::Gray)?);
        let sample = json!({
            "index": index,
            "number": number,
            "frame": self.jpeg(&rendered.frame, rendered.color)?,
            "background": self.jpeg(&rendered.background, rendered.color)?,
            "mask": format!("data:image/png;base64,{mask}"),
        });
        self.samples.push(sample);
        Ok(())
    }

    /// An image at the size of the page.
    fn small(&self, pixels: &[u8], color: Color) -> Vec<u8> {
        let image = Image { height: self.size.0, width: self.size.1, color, pixels: pixels.to_vec() };
        image.shrunk(self.page_size).pixels
    }

    /// An image of the page as a `data:` URL.
    fn jpeg(&self, pixels: &[u8], color: Color) -> Result<String> {
        let bytes = jpeg(&self.small(pixels, color), self.page_size, color, QUALITY)?;
        Ok(format!("data:image/jpeg;base64,{}", base64(&bytes)))
    }

    /// The page. `first_trained` is the index of the first training frame, if the model was trained on this clip; `lines`
    /// are names and values of the table.
    pub fn html(
        &self,
        title: &str,
        model: &Model,
        first_trained: Option<usize>,
        clip: &Clip,
        lines: &[(&str, String)],
    ) -> Result<String> {
        let data = json!({
            "width": self.page_size.1,
            "height": self.page_size.0,
            "frames": self.frames,
            "first": clip.number(0),
            "last": clip.number(self.frames - 1),
            "samples": self.samples,
            "angles": interval_maxima(&self.angles),
            "foreground": interval_maxima(&self.foreground),
            "support": self.support(model, first_trained),
            "max_angle": model.report.cone.as_ref().map(|cone| cone.max_angle),
            "tint": TINT,
        });
        // A file name that contains a tag must not end the script element.
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
            "<noscript><p>The player requires JavaScript; the images are also in the folder of this page.</p></noscript>\n\
             <div class=\"slide\"><label for=\"slider\">frame</label><input id=\"slider\" type=\"range\" min=\"0\" max=\"{last}\" value=\"0\">\
             <output id=\"shown\" for=\"slider\"></output></div>\n<div class=\"panes\">\n{panes}</div>\n\
             <h2>Over time</h2>\n<div id=\"timeline\"></div>\n\
             <p class=\"note\">Angle between each frame and its background, both centered, and fraction of foreground pixels. The strip \
             below marks the training frames; frames outside the support have the color of the area. A click moves the player \
             to the nearest frame in this page.</p>\n\
             <h2>Angles</h2>\n<div id=\"histogram\"></div>\n\
             <h2>Components</h2>\n<div class=\"panes\">\n{}</div>\n\
             <p class=\"note\">Components of the background model; middle gray is zero.</p>\n\
             <h2>Settings and results</h2>\n{}\
             <script id=\"data\" type=\"application/json\">{data}</script>\n<script>\n{SCRIPT}</script>\n",
            self.components(model)?,
            key_value_table(lines)
        );
        Ok(page(title, &body))
    }

    /// State of each interval of frames: `support`, `trimmed`, or null outside the training frames.
    fn support(&self, model: &Model, first_trained: Option<usize>) -> Vec<Value> {
        let Some(first) = first_trained else { return Vec::new() };
        let points = self.frames.min(POINTS);
        let state = |point: usize| {
            let interval = point * self.frames / points
                ..((point + 1) * self.frames / points).max(point * self.frames / points + 1);
            let states: Vec<bool> =
                interval.filter_map(|frame| model.report.support.get(frame.checked_sub(first)?).copied()).collect();
            match states.as_slice() {
                [] => Value::Null,
                states if states.contains(&true) => json!("support"),
                _ => json!("trimmed"),
            }
        };
        (0..points).map(state).collect()
    }

    /// The components as images.
    fn components(&self, model: &Model) -> Result<String> {
        let figure = |k: usize| -> Result<String> {
            let row = model.subspace.components.row(k);
            let largest = row.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
            let levels: Vec<u8> = row.iter().map(|x| (128.0 + 127.0 * x / largest).round() as u8).collect();
            let image = self.jpeg(&levels, Color::Gray)?;
            Ok(format!(
                "<figure><img alt=\"component {k}\" src=\"{image}\"><figcaption>component {k}</figcaption></figure>\n"
            ))
        };
        (0..model.n_components()).map(figure).collect()
    }
}

/// Maxima of at most [`POINTS`] intervals of equal length.
fn interval_maxima(values: &[f64]) -> Vec<f64> {
    let points = values.len().min(POINTS);
    let interval = |point: usize| &values[point * values.len() / points..(point + 1) * values.len() / points];
    // Four decimals are enough for a plot and keep the page small.
    let largest = |values: &[f64]| (values.iter().copied().fold(0.0, f64::max) * 1e4).round() / 1e4;
    (0..points).map(|point| largest(interval(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_long_clips_preserve_maxima() {
        let mut values = vec![0.0; 3 * POINTS + 7];
        values[1234] = 5.0;
        let short = interval_maxima(&values);
        assert_eq!((short.len(), short.iter().filter(|&&x| x == 5.0).count()), (POINTS, 1));
        assert_eq!(interval_maxima(&[1.0, 2.0]), [1.0, 2.0]);
    }
}
