//! Separation of frames: the background image at the illumination of the frame, and the foreground mask.
//!
//! A pixel is a candidate if the median of abs(x - background) over the 5 x 5 pixels around it exceeds [`LEVEL`] +
//! [`PER_SCALE`] s, where s is the pixel scale averaged over 7 x 7 pixels. The median keeps edges and removes single
//! pixels; the scale raises the threshold for waving leaves and water. A majority filter over 5 x 5 candidates closes
//! small holes. Neighboring pixels that exceed their threshold are added, which restores the corners that medians
//! remove. A region remains only if its median exceeds [`SURE_LEVEL`] + [`PER_SCALE`] s at some pixel: ripples are wide
//! but weak.

use steradian::{Error, Model, Result};

use crate::filter::{box_mean, dilate, grown_from, median_exceeds};
use crate::level::gray_level;
use crate::scores::Scorer;
use crate::statistics::ClipStatistics;

/// Threshold of a difference without the pixel scale, in gray levels.
const LEVEL: f32 = 18.0;
/// Threshold that a region must exceed at some pixel, without the pixel scale, in gray levels.
const SURE_LEVEL: f32 = 32.0;
/// Multiple of the pixel scale that is added to both thresholds.
const PER_SCALE: f32 = 0.5;
/// Radius of the box over which pixel scales are averaged, in pixels.
const SCALE_RADIUS: usize = 3;

/// A background model prepared to separate frames; it can be shared between threads.
pub struct Separator {
    size: (usize, usize),
    scorer: Scorer,
    center: Vec<f32>,
    components: Vec<Vec<f32>>,
    range: Vec<[f64; 2]>,
    typical: Vec<f64>,
    thresholds: Vec<u8>,
    sure_thresholds: Vec<u8>,
}

/// A frame separated into background image and foreground mask.
#[derive(Debug, Clone, PartialEq)]
pub struct Separated {
    /// The background image at the illumination of the frame.
    pub background: Vec<u8>,
    /// The foreground mask: true for foreground pixels.
    pub mask: Vec<bool>,
    /// The scores of the background, within the score range of the model.
    pub scores: Vec<f64>,
    /// The angle at the center between the frame and its background, in degrees; 90 if the background is the center.
    pub angle_degrees: f64,
}

impl Separated {
    /// Fraction of the pixels inside the foreground mask.
    pub fn foreground_fraction(&self) -> f64 {
        self.mask.iter().filter(|&&foreground| foreground).count() as f64 / self.mask.len().max(1) as f64
    }
}

impl Separator {
    /// Fails when the model was not fitted to a clip.
    pub fn new(model: &Model) -> Result<Self> {
        let (Some(clip), Some(size)) = (ClipStatistics::of(model)?, model.shape.image) else {
            return Err(Error::invalid_argument(
                "the model was not fitted to a clip (it has no pixel scales); use a background model",
            ));
        };
        let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let scales = box_mean(&single(&clip.pixel_scale), size, SCALE_RADIUS);
        // Differences are integers: one exceeds a threshold if it exceeds the integer part of the threshold.
        let thresholds = |level: f32| -> Vec<u8> {
            scales.iter().map(|scale| (level + PER_SCALE * scale).floor().min(255.0) as u8).collect()
        };
        Ok(Self {
            size,
            scorer: Scorer::of(model),
            center: single(&model.subspace.center),
            components: (0..model.n_components()).map(|k| single(model.subspace.components.row(k))).collect(),
            range: clip.score_range.clone(),
            typical: clip.typical_scores.clone(),
            thresholds: thresholds(LEVEL),
            sure_thresholds: thresholds(SURE_LEVEL),
        })
    }

    /// Height and width of frames.
    pub fn dimensions(&self) -> (usize, usize) {
        self.size
    }

    /// The background image at the typical illumination of the clip.
    pub fn typical_background(&self) -> Vec<u8> {
        bytes(&self.expected(&self.typical))
    }

    /// Separates a frame, which must have the number of pixels of the model.
    pub fn separate(&self, frame: &[u8]) -> Separated {
        let mut scores = self.scorer.scores(frame);
        scores.iter_mut().zip(&self.range).for_each(|(s, [low, high])| *s = s.clamp(*low, *high));
        self.separate_expected(frame, self.expected(&scores), scores)
    }

    /// Separates a frame whose background is known, for example from the low-rank part of a training frame. Its scores
    /// are those of the background.
    pub fn separate_from(&self, frame: &[u8], background: &[f64]) -> Separated {
        let expected: Vec<f32> = background.iter().map(|&level| level as f32).collect();
        let along = |q: &Vec<f32>| {
            let away = expected.iter().zip(&self.center).map(|(e, c)| f64::from(e - c));
            away.zip(q).map(|(away, q)| away * f64::from(*q)).sum()
        };
        let scores = self.components.iter().map(along).collect();
        self.separate_expected(frame, expected, scores)
    }

    /// Separates a frame from its expected background.
    fn separate_expected(&self, frame: &[u8], expected: Vec<f32>, scores: Vec<f64>) -> Separated {
        let (mut apart, mut away) = (0.0f64, 0.0f64);
        let mut differences = vec![0u8; frame.len()];
        for (rows, out) in frame.chunks(self.size.1).enumerate().zip(differences.chunks_mut(self.size.1)) {
            let (y, row) = rows;
            let columns = y * self.size.1..y * self.size.1 + row.len();
            let (mut row_apart, mut row_away) = (0.0f32, 0.0f32);
            for (((x, e), c), out) in row.iter().zip(&expected[columns.clone()]).zip(&self.center[columns]).zip(out) {
                let difference = f32::from(*x) - e;
                *out = gray_level(difference.abs());
                row_apart += difference * difference;
                row_away += (e - c) * (e - c);
            }
            apart += f64::from(row_apart);
            away += f64::from(row_away);
        }
        Separated {
            background: bytes(&expected),
            mask: self.mask(&differences),
            scores,
            angle_degrees: apart.sqrt().atan2(away.sqrt()).to_degrees(),
        }
    }

    /// The foreground mask, from the absolute difference of each pixel.
    fn mask(&self, differences: &[u8]) -> Vec<bool> {
        let candidates = median_exceeds(differences, &self.thresholds, self.size);
        let candidates: Vec<u8> = candidates.into_iter().map(u8::from).collect();
        let mut closed = median_exceeds(&candidates, &vec![0; candidates.len()], self.size);
        for (at, near) in dilate(&closed, self.size).into_iter().enumerate() {
            closed[at] |= near && differences[at] > self.thresholds[at];
        }
        let sure = median_exceeds(differences, &self.sure_thresholds, self.size);
        grown_from(&sure, &closed, self.size)
    }

    /// The expected background: mu + s Q.
    fn expected(&self, scores: &[f64]) -> Vec<f32> {
        let mut out = self.center.clone();
        for (s, component) in scores.iter().zip(&self.components) {
            let s = *s as f32;
            out.iter_mut().zip(component).for_each(|(x, q)| *x += s * q);
        }
        out
    }
}

fn bytes(levels: &[f32]) -> Vec<u8> {
    levels.iter().map(|x| gray_level(*x)).collect()
}
