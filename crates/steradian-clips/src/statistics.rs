//! Statistics of the pixels and frames of a clip, stored in a background model for the separation of frames.

use std::collections::BTreeMap;

use rayon::prelude::*;
use steradian::engine::Runner;
use steradian::model::Extra;
use steradian::{Error, Local, Model, Result, Source};

use crate::pixels;
use crate::scene::{column, quantile};
use crate::scores::Scorer;
use crate::training::Training;

/// Statistics of the pixels and frames that a model was fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipStatistics {
    /// The scale of each pixel: its typical distance from the background, in gray levels.
    pub pixel_scale: Vec<f64>,
    /// The smallest and the largest score of a background, per component.
    pub score_range: Vec<[f64; 2]>,
    /// The scores of the typical background.
    pub typical_scores: Vec<f64>,
}

const PIXEL_SCALE: &str = "pixel_scale";
const SCORE_RANGE: &str = "score_range";
const TYPICAL_SCORES: &str = "typical_scores";

impl ClipStatistics {
    /// The statistics stored in a model; `None` for a model that was not fitted to a clip.
    pub fn of(model: &Model) -> Result<Option<Self>> {
        let (d, features) = (model.n_components(), model.n_features());
        let array = |name: &str, shape: &[usize]| match model.extras.get(name) {
            Some(extra) if extra.shape == shape => Ok(extra.values.clone()),
            Some(extra) => Err(Error::invalid_data(format!(
                "the background model is invalid: array `{name}` has shape {:?}, expected {shape:?}",
                extra.shape
            ))),
            None => Err(Error::invalid_data(format!("the background model is invalid: array `{name}` is missing"))),
        };
        if !model.extras.contains_key(PIXEL_SCALE) {
            return Ok(None);
        }
        let statistics = Self {
            pixel_scale: array(PIXEL_SCALE, &[features])?,
            score_range: array(SCORE_RANGE, &[d, 2])?.as_chunks().0.to_vec(),
            typical_scores: array(TYPICAL_SCORES, &[d])?,
        };
        statistics.check().map_err(|what| Error::invalid_data(format!("the background model is invalid: {what}")))?;
        Ok(Some(statistics))
    }

    /// The first number that is out of range, in words.
    fn check(&self) -> std::result::Result<(), String> {
        if let Some(scale) = self.pixel_scale.iter().find(|scale| !scale.is_finite() || **scale < 0.0) {
            return Err(format!("array `{PIXEL_SCALE}` has the value {scale}, expected at least 0"));
        }
        // NaN compares with nothing; infinite ends stand for a range without limits.
        if let Some([low, high]) =
            self.score_range.iter().find(|[low, high]| low > high || low.is_nan() || high.is_nan())
        {
            return Err(format!("array `{SCORE_RANGE}` has the range {low} to {high}"));
        }
        match self.typical_scores.iter().find(|score| !score.is_finite()) {
            Some(score) => Err(format!("array `{TYPICAL_SCORES}` has the value {score}, expected a finite one")),
            None => Ok(()),
        }
    }

    /// The statistics as arrays of a model.
    pub fn into_extras(self) -> BTreeMap<String, Extra> {
        let ranges = Extra { shape: vec![self.score_range.len(), 2], values: self.score_range.into_flattened() };
        BTreeMap::from([
            (PIXEL_SCALE.to_owned(), Extra::vector(self.pixel_scale)),
            (SCORE_RANGE.to_owned(), ranges),
            (TYPICAL_SCORES.to_owned(), Extra::vector(self.typical_scores)),
        ])
    }
}

/// Turns a model that was fitted to frames into a background model: adds pixel scales and the typical background. Its
/// reconstructions do not change: the score range is unlimited and the center stays.
pub fn with_clip_statistics(mut model: Model, source: &dyn Source, runner: &Local) -> Result<Model> {
    model.check_width(source.shape())?;
    let training = Training::read(source, runner)?;
    let d = model.n_components();
    let statistics = runner.compute(|| {
        let scorer = Scorer::of(&model);
        let scores: Vec<Vec<f64>> =
            (0..training.frames).into_par_iter().map(|frame| scorer.scores(training.frame(frame))).collect();
        let found = pixels::of_residuals(
            &training,
            &model.subspace.center,
            Some(&model.subspace.components),
            &scores,
            false,
            None,
        );
        ClipStatistics {
            pixel_scale: found.scale,
            score_range: vec![[f64::NEG_INFINITY, f64::INFINITY]; d],
            typical_scores: (0..d).map(|k| quantile(&column(&scores, k), 0.5)).collect(),
        }
    });
    model.extras.extend(statistics.into_extras());
    Ok(model)
}
