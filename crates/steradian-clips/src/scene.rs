//! The method `scene`: a background model with a few components for the illumination, robust against foreground.
//!
//! | symbol | here |
//! |---|---|
//! | X, at most 400 of the frames | `training` |
//! | mu, mode of each pixel | `center` |
//! | Q, d components | `model.components` |
//! | s_i, robust scores | `scores` |
//! | sigma, scale of each pixel | `pixel_scale` |
//!
//! mu and sigma are estimated first, without components, from the frames with the most frequent illumination: with two
//! illuminations, the mode would combine pixels of both. Then Z = X with every cell beyond 3 sigma of the background
//! replaced by the background, except in frames where this applies to more than [`MAX_REPLACED_FRACTION`] of the cells.
//! Three rounds follow:
//! 1. Q = top components of the unit rows of Z - mu (angular embedding by the core crate): a third of them in the first
//!    round, all in the last.
//! 2. s_i = robust scores of frame i, clamped to their middle 90 %, widened by a tenth, so that an object that covers
//!    most of a frame does not count as illumination.
//! 3. mu += mode of x - mu - s Q over the frames; sigma from the smallest third of the absolute residuals.
//! 4. Z as above, relative to mu + s Q. If more than 5 % of the frames have another illumination, the response of each
//!    pixel to s is first refitted by least absolute residuals; otherwise Q would contain traces of foreground objects
//!    that are present under one illumination only.
//!
//! A mode is used because an object that covers a pixel for half of the frames would change a median. Components are
//! needed because the illumination may be switched. Cells are replaced before the first components are computed: a
//! change of illumination affects most of a frame, a stationary foreground object a small part, and both persist for
//! long; a component of the second kind would make the object part of the background. The first round has few
//! components for the same reason: frames with another illumination contain their foreground until the illumination is
//! modeled. Cost per round: one fit of at most 400 frames and two sweeps over them.

use rayon::prelude::*;
use steradian::config::Weighting;
use steradian::engine::Runner;
use steradian::model::{FitReport, Subspace};
use steradian::{Center, Config, Error, Local, Method, Model, Result, Source};

use crate::level::gray_level;
use crate::mode::ModeFinder;
use crate::pixels;
use crate::scores::{Scorer, spread};
use crate::statistics::ClipStatistics;
use crate::training::Training;

/// The method for clips: mode of each pixel plus components of the illumination.
pub const SCENE: Method = Method::other("scene");

/// The preset of [`SCENE`].
pub fn scene_config(components: usize) -> Config {
    Config::new(SCENE, components).with_center(Center::Median).with_weighting(Weighting::InverseNorm)
}

/// Default number of components: the illumination of a scene has few degrees of freedom.
pub const COMPONENTS: usize = 3;

/// Number of rounds.
const ROUNDS: usize = 3;
/// Tolerance of the components in all rounds but the last, which serve to select cells only.
const APPROX_TOLERANCE: f64 = 1e-3;
/// Largest difference of the median gray level between frames with equal illumination.
const MAX_BRIGHTNESS_DIFFERENCE: f32 = 6.0;
/// Smallest fraction of frames with equal illumination that suffices to start from.
const MIN_START_FRACTION: f64 = 0.25;
/// Fraction of frames with another illumination above which the response of each pixel is refitted.
const REFIT_FRACTION: f64 = 0.05;
/// Fraction of replaced cells above which a frame has another illumination, not a foreground object.
const MAX_REPLACED_FRACTION: f64 = 0.4;
/// Number of scales beyond which a cell is replaced.
const CELL_LIMIT: f64 = 3.0;
/// Fraction of the scores outside the score range at each end.
const TAIL_FRACTION: f64 = 0.05;
/// Fraction of its width by which the score range is widened at each end.
const RANGE_MARGIN: f64 = 0.1;

/// Fits a background model to the frames of a clip. It has fewer than `components` components if the rank is lower.
pub fn fit_scene(source: &dyn Source, components: usize, runner: &Local) -> Result<Model> {
    let before = runner.passes();
    if components == 0 {
        return Err(Error::invalid_parameter("n_components", "n_components = 0; use at least 1"));
    }
    let training = Training::read(source, runner)?;
    if training.all_equal() {
        return Err(Error::invalid_data(format!(
            "all {} frames are equal, so there is no foreground and no change of illumination; use frames that differ",
            source.shape().samples
        )));
    }
    let zero = vec![0.0; training.pixels];
    let mut cleaned = training.data.clone();
    let start = runner.compute(|| pixels::of_residuals(&typical_frames(&training), &zero, None, &[], true, None));
    let mut center = start.mode;
    let other_illumination = runner.compute(|| clean(&training, &center, None, &start.scale, &mut cleaned));
    let switched = other_illumination as f64 > REFIT_FRACTION * training.frames as f64;
    let mut fitted: Option<(Model, ClipStatistics)> = None;
    for round in 0..ROUNDS {
        runner.check_cancelled()?;
        let tolerance = if round + 1 < ROUNDS { APPROX_TOLERANCE } else { scene_config(1).tolerance() };
        let max_components = (components * (round + 1)).div_ceil(ROUNDS);
        let found = embed(&training, &cleaned, &center, max_components, tolerance, runner)?;
        let Some(model) = found.or_else(|| fitted.take().map(|(model, _)| model)) else {
            // The illumination does not change: the background is the center, whatever the components are.
            let Some(model) = embed(&training, &training.data, &center, 1, tolerance, runner)? else {
                return Err(Error::invalid_data(
                    "all frames are equal to the center, so there is no direction to find; use frames that differ",
                ));
            };
            let still = ClipStatistics {
                pixel_scale: start.scale,
                score_range: vec![[0.0; 2]; model.n_components()],
                typical_scores: vec![0.0; model.n_components()],
            };
            fitted = Some((model, still));
            break;
        };
        let statistics = runner.compute(|| {
            let mut scores = robust_scores(&training, &center, &model);
            let range = clamp_scores(&mut scores, model.n_components());
            let typical = (0..model.n_components()).map(|k| quantile(&column(&scores, k), 0.5)).collect();
            // The last round determines the model; no frame is cleaned after it.
            let last = round + 1 == ROUNDS;
            let illumination = (switched && !last).then(|| relative_scores(&scores, &range));
            let components = Some(&model.subspace.components);
            let found = pixels::of_residuals(&training, &center, components, &scores, true, illumination.as_deref());
            center.iter_mut().zip(&found.mode).for_each(|(c, mode)| *c += mode);
            if !last {
                let (illumination, response) = (illumination.as_deref(), &found.response);
                let fitted = FrameFit { model: &model, scores: &scores, illumination, response };
                clean(&training, &center, Some(&fitted), &found.scale, &mut cleaned);
            }
            ClipStatistics { pixel_scale: found.scale, score_range: range, typical_scores: typical }
        });
        fitted = Some((model, statistics));
    }
    let (model, statistics) = fitted.expect("there is at least one round");
    let Model { subspace, diagnostics, report, .. } = model;
    Ok(Model {
        config: scene_config(components),
        shape: source.shape().clone(),
        feature_names: None,
        subspace: Subspace { center, ..subspace },
        diagnostics,
        report: FitReport { support: training.taken, passes: runner.passes() - before, ..report },
        extras: statistics.into_extras(),
    })
}

/// The frames with a brightness near the most frequent one; all frames if no brightness is frequent enough.
fn typical_frames(training: &Training) -> Training {
    let brightness: Vec<f32> = (0..training.frames)
        .into_par_iter()
        .map(|frame| {
            let frame = training.frame(frame);
            let mut levels: Vec<u8> = spread(training.pixels).into_iter().map(|pixel| frame[pixel]).collect();
            let middle = levels.len() / 2;
            f32::from(*levels.select_nth_unstable(middle).1)
        })
        .collect();
    let typical = ModeFinder::new().mode(&brightness);
    let near: Vec<usize> =
        (0..training.frames).filter(|&i| (brightness[i] - typical).abs() <= MAX_BRIGHTNESS_DIFFERENCE).collect();
    let enough = near.len() as f64 >= MIN_START_FRACTION * training.frames as f64;
    training.select(if enough { near } else { (0..training.frames).collect() })
}

/// The model of frames about a center, with up to `max_components` components as the rank allows; `None` for rank 0.
fn embed(
    training: &Training,
    frames: &[u8],
    center: &[f64],
    max_components: usize,
    tolerance: f64,
    runner: &Local,
) -> Result<Option<Model>> {
    let samples = training.samples(frames)?;
    for d in (1..=max_components.min(training.frames).min(training.pixels)).rev() {
        // The subspace of a round is the angular embedding about a given center.
        let config = scene_config(d)
            .with_method(Method::Angular)
            .with_center(Center::Given(center.to_vec()))
            .with_tolerance(tolerance);
        match steradian::fit(&config, &samples, runner) {
            // The rank is lower than the number of components: retry with fewer.
            Err(Error::RankTooSmall { .. } | Error::InvalidArgument { .. }) => {}
            Err(Error::InvalidData(_)) => return Ok(None),
            other => return other.map(Some),
        }
    }
    Ok(None)
}

/// The robust scores of all training frames.
fn robust_scores(training: &Training, center: &[f64], model: &Model) -> Vec<Vec<f64>> {
    let scorer = Scorer::new(true, center, &model.subspace.components);
    (0..training.frames).into_par_iter().map(|frame| scorer.scores(training.frame(frame))).collect()
}

/// The scores of all frames along one component.
pub(crate) fn column(scores: &[Vec<f64>], k: usize) -> Vec<f64> {
    scores.iter().map(|scores| scores[k]).collect()
}

/// Clamps scores to the score range of each component, and returns the ranges.
fn clamp_scores(scores: &mut [Vec<f64>], d: usize) -> Vec<[f64; 2]> {
    let range = |k: usize| {
        let column = column(scores, k);
        let (low, high) = (quantile(&column, TAIL_FRACTION), quantile(&column, 1.0 - TAIL_FRACTION));
        let margin = RANGE_MARGIN * (high - low);
        [low - margin, high + margin]
    };
    let ranges: Vec<[f64; 2]> = (0..d).map(range).collect();
    for scores in scores {
        scores.iter_mut().zip(&ranges).for_each(|(s, [low, high])| *s = s.clamp(*low, *high));
    }
    ranges
}

/// A quantile, linearly interpolated between neighboring values.
pub(crate) fn quantile(values: &[f64], fraction: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = fraction * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// Scores divided by the largest absolute value of their range: the scores of the illumination.
fn relative_scores(scores: &[Vec<f64>], range: &[[f64; 2]]) -> Vec<Vec<f32>> {
    let largest: Vec<f64> = range.iter().map(|[low, high]| low.abs().max(high.abs()).max(f64::MIN_POSITIVE)).collect();
    let relative = |scores: &Vec<f64>| scores.iter().zip(&largest).map(|(s, most)| (s / most) as f32).collect();
    scores.iter().map(relative).collect()
}

/// Fit of the training frames in a round: scores, and the corrected response of each pixel to the illumination.
struct FrameFit<'a> {
    model: &'a Model,
    scores: &'a [Vec<f64>],
    illumination: Option<&'a [Vec<f32>]>,
    response: &'a [f32],
}

/// Writes the training frames with every cell far from the background replaced by it, except frames with another
/// illumination. Returns the number of those frames.
fn clean(
    training: &Training,
    center: &[f64],
    fitted: Option<&FrameFit<'_>>,
    scale: &[f64],
    cleaned: &mut [u8],
) -> usize {
    let (center, scale) = (single(center), single(scale));
    let components: Vec<Vec<f32>> = fitted.map_or(Vec::new(), |fitted| {
        (0..fitted.model.n_components()).map(|k| single(fitted.model.subspace.components.row(k))).collect()
    });
    let clean_frame = |(frame, out): (usize, &mut [u8])| {
        let mut expected = center.clone();
        let scores = fitted.map_or(&[][..], |fitted| &fitted.scores[frame]);
        for (s, component) in scores.iter().zip(&components) {
            let s = *s as f32;
            expected.iter_mut().zip(component).for_each(|(e, q)| *e += s * q);
        }
        if let Some(FrameFit { illumination: Some(illumination), response, .. }) = fitted {
            let scores = &illumination[frame];
            for (e, response) in expected.iter_mut().zip(response.chunks(scores.len())) {
                *e += response.iter().zip(scores).map(|(r, l)| r * l).sum::<f32>();
            }
        }
        let levels = training.frame(frame);
        let mut replaced = 0;
        for (((out, x), e), scale) in out.iter_mut().zip(levels).zip(&expected).zip(&scale) {
            let far = (f32::from(*x) - e).abs() > CELL_LIMIT as f32 * scale;
            *out = if far { gray_level(*e) } else { *x };
            replaced += usize::from(far);
        }
        let other_illumination = replaced as f64 > MAX_REPLACED_FRACTION * levels.len() as f64;
        if other_illumination {
            out.copy_from_slice(levels);
        }
        usize::from(other_illumination)
    };
    cleaned.par_chunks_mut(training.pixels).enumerate().map(clean_frame).sum()
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
