//! What a model of any method has to know of pixels before it can take frames apart.

use rayon::prelude::*;
use steradian::{ClipStatistics, Local, Model, Result, Runner, Source};

use crate::pixels;
use crate::scene::{column, quantile};
use crate::scores::Scorer;
use crate::training::Training;

/// Adds scales of pixels and the typical background to a model that was fitted to frames. Its backgrounds stay what the
/// method says: scores have no limits, and the center does not move.
pub fn with_clip_statistics(mut model: Model, source: &dyn Source, runner: &Local) -> Result<Model> {
    model.check_width(source.shape())?;
    let training = Training::read(source, runner)?;
    let d = model.n_components();
    model.clip = Some(runner.compute(|| {
        let scorer = Scorer::of(&model);
        let scores: Vec<Vec<f64>> =
            (0..training.frames).into_par_iter().map(|frame| scorer.scores(training.frame(frame))).collect();
        let found = pixels::of_residuals(&training, &model.center, Some(&model.components), &scores, false, None);
        ClipStatistics {
            pixel_scale: found.scale,
            score_range: vec![[f64::NEG_INFINITY, f64::INFINITY]; d],
            typical_scores: (0..d).map(|k| quantile(&column(&scores, k), 0.5)).collect(),
        }
    }));
    Ok(model)
}
