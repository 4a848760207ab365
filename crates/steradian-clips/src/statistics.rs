//! Statistics of the pixels and frames of a clip, which a model keeps and separating frames needs.

use rayon::prelude::*;
use steradian::{Error, Extra, Local, Model, Result, Runner, Source};

use crate::pixels;
use crate::scene::{column, quantile};
use crate::scores::Scorer;
use crate::training::Training;

/// Statistics of the pixels and frames that a model was fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipStatistics {
    /// The usual distance of each pixel from the background, in gray levels.
    pub pixel_scale: Vec<f64>,
    /// The least and the largest score of a background, for each component.
    pub score_range: Vec<[f64; 2]>,
    /// The scores of the typical background.
    pub typical_scores: Vec<f64>,
}

const PIXEL_SCALE: &str = "pixel_scale";
const SCORE_RANGE: &str = "score_range";
const TYPICAL_SCORES: &str = "typical_scores";

impl ClipStatistics {
    /// The statistics that a model keeps; `None` for a model that was not fitted to a clip.
    pub fn of(model: &Model) -> Result<Option<Self>> {
        let (d, features) = (model.n_components(), model.n_features());
        let array = |name: &str, shape: &[usize]| match model.extras.get(name) {
            Some(extra) if extra.shape == shape => Ok(extra.values.clone()),
            Some(extra) => Err(Error::invalid_data(format!(
                "not a model of a clip: array `{name}` has the shape {:?} where {shape:?} is expected",
                extra.shape
            ))),
            None => Err(Error::invalid_data(format!("not a model of a clip: array `{name}` is missing"))),
        };
        if !model.extras.contains_key(PIXEL_SCALE) {
            return Ok(None);
        }
        Ok(Some(Self {
            pixel_scale: array(PIXEL_SCALE, &[features])?,
            score_range: array(SCORE_RANGE, &[d, 2])?.as_chunks().0.to_vec(),
            typical_scores: array(TYPICAL_SCORES, &[d])?,
        }))
    }

    /// Keeps the statistics in a model.
    pub fn store(self, model: &mut Model) {
        let ranges = Extra { shape: vec![self.score_range.len(), 2], values: self.score_range.into_flattened() };
        model.extras.insert(PIXEL_SCALE.to_owned(), Extra::vector(self.pixel_scale));
        model.extras.insert(SCORE_RANGE.to_owned(), ranges);
        model.extras.insert(TYPICAL_SCORES.to_owned(), Extra::vector(self.typical_scores));
    }
}

/// Adds scales of pixels and the typical background to a model that was fitted to frames. Its backgrounds stay what the
/// method says: scores have no limits, and the center does not move.
pub fn with_clip_statistics(mut model: Model, source: &dyn Source, runner: &Local) -> Result<Model> {
    model.check_width(source.shape())?;
    let training = Training::read(source, runner)?;
    let d = model.n_components();
    let statistics = runner.compute(|| {
        let scorer = Scorer::of(&model);
        let scores: Vec<Vec<f64>> =
            (0..training.frames).into_par_iter().map(|frame| scorer.scores(training.frame(frame))).collect();
        let found = pixels::of_residuals(&training, &model.center, Some(&model.components), &scores, false, None);
        ClipStatistics {
            pixel_scale: found.scale,
            score_range: vec![[f64::NEG_INFINITY, f64::INFINITY]; d],
            typical_scores: (0..d).map(|k| quantile(&column(&scores, k), 0.5)).collect(),
        }
    });
    statistics.store(&mut model);
    Ok(model)
}
