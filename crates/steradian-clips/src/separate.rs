//! Separation of frames: the background image at the illumination of the frame, and the foreground mask.
//!
//! A pixel is a candidate when the median of abs(x - background) over the 5 x 5 pixels around it exceeds [`LEVEL`] +
//! [`PER_SCALE`] s, where s is the pixel's scale averaged over 7 x 7. The median keeps edges and drops single pixels; the
//! scale makes waving leaves and water count less. Candidates follow the majority of the 5 x 5 around them, which closes
//! small holes; pixels beside them that exceed the limit by themselves give back the corners that medians round off. A region
//! stays only if its median exceeds [`SURE_LEVEL`] + [`PER_SCALE`] s somewhere: ripples are wide but nowhere strong.

use steradian::{Error, Model, Result};

use crate::filter::{beside, box_mean, grown_from, median_exceeds};
use crate::level::gray_level;
use crate::scores::Scorer;
use crate::statistics::ClipStatistics;

/// Gray levels that a difference has to exceed in any case.
const LEVEL: f32 = 18.0;
/// Gray levels that a region has to exceed somewhere.
const SURE_LEVEL: f32 = 32.0;
/// How much of a pixel's scale is added to both.
const PER_SCALE: f32 = 0.5;
/// Pixels each side over which scales are averaged.
const SCALE_RADIUS: usize = 3;

/// A model, ready for frames; threads may share it.
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

/// A frame taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Separated {
    /// The empty scene at the light of the frame.
    pub background: Vec<u8>,
    /// Whether a pixel shows something else.
    pub mask: Vec<bool>,
    /// The frame's coordinates along the components, within the model's range.
    pub scores: Vec<f64>,
    /// The angle at the center between the frame and its background, in degrees: 90 where the background is the center itself.
    pub angle_degrees: f64,
}

impl Separated {
    /// The share of the frame that the mask covers.
    pub fn foreground_share(&self) -> f64 {
        self.mask.iter().filter(|&&moving| moving).count() as f64 / self.mask.len().max(1) as f64
    }
}

impl Separator {
    /// Fails when the model was not fitted to a clip.
    pub fn new(model: &Model) -> Result<Self> {
        let (Some(clip), Some(size)) = (ClipStatistics::of(model)?, model.shape.image) else {
            return Err(Error::invalid_argument(
                "the model was not fitted to a clip: it has no scales of pixels; fit it with steradian background",
            ));
        };
        let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let scales = box_mean(&single(&clip.pixel_scale), size, SCALE_RADIUS);
        // Differences are whole numbers: they exceed a limit when they exceed what is below its point.
        let thresholds = |level: f32| -> Vec<u8> {
            scales.iter().map(|scale| (level + PER_SCALE * scale).floor().min(255.0) as u8).collect()
        };
        Ok(Self {
            size,
            scorer: Scorer::of(model),
            center: single(&model.center),
            components: (0..model.n_components()).map(|k| single(model.components.row(k))).collect(),
            range: clip.score_range.clone(),
            typical: clip.typical_scores.clone(),
            thresholds: thresholds(LEVEL),
            sure_thresholds: thresholds(SURE_LEVEL),
        })
    }

    /// Height and width of frames.
    pub fn size(&self) -> (usize, usize) {
        self.size
    }

    /// The empty scene at the light that the clip mostly had.
    pub fn typical_background(&self) -> Vec<u8> {
        bytes(&self.expected(&self.typical))
    }

    /// Takes one frame apart; its length is that of the model's frames.
    pub fn separate(&self, frame: &[u8]) -> Separated {
        let mut scores = self.scorer.scores(frame);
        scores.iter_mut().zip(&self.range).for_each(|(s, [low, high])| *s = s.clamp(*low, *high));
        self.apart(frame, self.expected(&scores), scores)
    }

    /// Takes apart a frame whose background is known already, as a low-rank part gives it for frames that a model was learnt
    /// from. Its scores are those of the background.
    pub fn separate_from(&self, frame: &[u8], background: &[f64]) -> Separated {
        let expected: Vec<f32> = background.iter().map(|&level| level as f32).collect();
        let along = |q: &Vec<f32>| {
            let away = expected.iter().zip(&self.center).map(|(e, c)| f64::from(e - c));
            away.zip(q).map(|(away, q)| away * f64::from(*q)).sum()
        };
        let scores = self.components.iter().map(along).collect();
        self.apart(frame, expected, scores)
    }

    /// A frame and the background that is expected of it.
    fn apart(&self, frame: &[u8], expected: Vec<f32>, scores: Vec<f64>) -> Separated {
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

    /// Which pixels differ, from how much each does.
    fn mask(&self, differences: &[u8]) -> Vec<bool> {
        let candidates = median_exceeds(differences, &self.thresholds, self.size);
        let candidates: Vec<u8> = candidates.into_iter().map(u8::from).collect();
        let mut closed = median_exceeds(&candidates, &vec![0; candidates.len()], self.size);
        for (at, beside) in beside(&closed, self.size).into_iter().enumerate() {
            closed[at] |= beside && differences[at] > self.thresholds[at];
        }
        let sure = median_exceeds(differences, &self.sure_thresholds, self.size);
        grown_from(&sure, &closed, self.size)
    }

    /// mu + s Q'.
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
