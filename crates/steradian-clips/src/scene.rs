//! The method `scene`: a background of a few components that follows the light and leaves out what moves.
//!
//! | symbol | here |
//! |---|---|
//! | X, at most 400 of the frames | `training` |
//! | mu, the mode of each pixel | `center` |
//! | Q, d components | `model.components` |
//! | s_i, robust scores | `scores` |
//! | sigma, a scale for each pixel | `pixel_scale` |
//!
//! mu and sigma are found first, without components, from frames of the light that is most frequent: the mode of two lights would
//! be a patchwork of both. Then Z = X with every cell beyond 3 sigma of the background replaced by it,
//! but for frames in which that would be more than [`LIGHT`] of the cells, and three rounds of:
//! 1. Q = top components of the unit rows of Z - mu (angular embedding, by the engine): a third of them in the first round, all
//!    in the last;
//! 2. s_i = robust scores of frame i; those beyond the middle 90 %, widened by a tenth, are held there, so that somebody who
//!    fills the picture does not become light;
//! 3. mu += mode of x - mu - s Q over the frames, and sigma from the nearest third of what is left;
//! 4. Z as above, around mu + s Q; where a twentieth of the frames shows another light, each pixel's response to s is first found anew by least
//!    absolute residuals, or Q would keep traces of who was there at one of the lights.
//!
//! A mode, not a median: what rests before a pixel for half of the time must not become background. Components, not a mode
//! alone: the light may be switched. Cells replaced before there are components: light changes most of a frame and somebody who
//! rests changes little of it, but both do so for long; a component of the second kind would make furniture of them. Few
//! components at first, for the same reason: frames of another light keep who is in them until the light is known. Cost: each round one fit of the engine on at most 400 frames and two sweeps over them.

use rayon::prelude::*;
use steradian::{Center, ComponentCount, Config, Error, Local, Method, Model, Result, Runner, Source, Weighting};

use crate::level::gray_level;
use crate::mode::ModeFinder;
use crate::pixels;
use crate::scores::{Scorer, spread};
use crate::statistics::ClipStatistics;
use crate::training::Training;

/// The method of clips: angular embedding around the median of each pixel, in rounds.
pub const SCENE: Method = Method::other("scene");

/// The preset of [`SCENE`].
pub fn scene_config(components: usize) -> Config {
    let mut config = Config::new(SCENE, components);
    (config.center, config.weighting) = (Center::Median, Weighting::InverseNorm);
    config
}

/// Components of a scene, unless asked otherwise: light has few ways to change.
pub const COMPONENTS: usize = 3;

const ROUNDS: usize = 3;
/// How certain the components of all rounds but the last have to be: they only point out cells.
const ROUGH: f64 = 1e-3;
/// Gray levels that the median of a frame may be off and still be called the same light.
const ONE_LIGHT: f32 = 6.0;
/// The least share of frames of one light that a scene begins from.
const ENOUGH: f64 = 0.25;
/// The share of frames that show another light from which on components say too much of who was there at one of the lights.
const SWITCHED: f64 = 0.05;
/// A frame of which a larger share of cells is far from the background shows another light, not another thing.
const LIGHT: f64 = 0.4;
/// Scales beyond which a cell is replaced.
const CELL_LIMIT: f64 = 3.0;
/// The share of scores beyond which, at each end, they are not trusted.
const TAIL: f64 = 0.05;
/// By how much of its width the trusted range is widened at each end.
const WIDENED: f64 = 0.1;

/// Fits a scene to the frames of a clip. Where the light has fewer ways to change than `components`, there are fewer.
pub fn fit_scene(source: &dyn Source, components: usize, runner: &Local) -> Result<Model> {
    let before = runner.passes();
    if components == 0 {
        return Err(Error::invalid_argument("n_components = 0; ask for at least 1"));
    }
    let training = Training::read(source, runner)?;
    if training.all_equal() {
        return Err(Error::invalid_data(format!(
            "all {} frames are equal; there is nothing that moves and no light that changes: one of them is the background",
            source.shape().samples
        )));
    }
    let zero = vec![0.0; training.pixels];
    let mut cleaned = training.data.clone();
    let start = runner.compute(|| pixels::of_residuals(&of_one_light(&training), &zero, None, &[], true, None));
    let mut center = start.mode;
    let other_light = runner.compute(|| clean(&training, &center, None, &start.scale, &mut cleaned));
    let switched = other_light as f64 > SWITCHED * training.frames as f64;
    let mut fitted: Option<(Model, ClipStatistics)> = None;
    for round in 0..ROUNDS {
        runner.check_cancelled()?;
        let tolerance = if round + 1 < ROUNDS { ROUGH } else { scene_config(1).tolerance };
        let most = (components * (round + 1)).div_ceil(ROUNDS);
        let found = embed(&training, &cleaned, &center, most, tolerance, runner)?;
        let Some(model) = found.or_else(|| fitted.take().map(|(model, _)| model)) else {
            // Nothing changes but what moves: the background is the center, whatever the components are.
            let Some(model) = embed(&training, &training.data, &center, 1, tolerance, runner)? else {
                return Err(Error::invalid_data("no frame differs from the center; there is no direction to find"));
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
            let range = hold(&mut scores, model.n_components());
            let typical = (0..model.n_components()).map(|k| quantile(&column(&scores, k), 0.5)).collect();
            // The last round says what the model is; nothing is cleaned after it.
            let last = round + 1 == ROUNDS;
            let lights = (switched && !last).then(|| lights(&scores, &range));
            let components = Some(&model.components);
            let found = pixels::of_residuals(&training, &center, components, &scores, true, lights.as_deref());
            center.iter_mut().zip(&found.mode).for_each(|(c, mode)| *c += mode);
            if !last {
                let (lights, response) = (lights.as_deref(), &found.response);
                let fitted = FrameFit { model: &model, scores: &scores, lights, response };
                clean(&training, &center, Some(&fitted), &found.scale, &mut cleaned);
            }
            ClipStatistics { pixel_scale: found.scale, score_range: range, typical_scores: typical }
        });
        fitted = Some((model, statistics));
    }
    let (mut model, statistics) = fitted.expect("there is at least one round");
    model.center = center;
    statistics.store(&mut model);
    model.shape = source.shape().clone();
    model.support = training.taken;
    model.config.method = SCENE;
    model.config.components = ComponentCount::Count(components);
    model.config.center = Center::Median;
    model.passes = runner.passes() - before;
    Ok(model)
}

/// The frames whose brightness is near to that which most have; all of them where no brightness is frequent.
fn of_one_light(training: &Training) -> Training {
    let brightness: Vec<f32> = (0..training.frames)
        .into_par_iter()
        .map(|frame| {
            let frame = training.frame(frame);
            let mut levels: Vec<u8> = spread(training.pixels).into_iter().map(|pixel| frame[pixel]).collect();
            let middle = levels.len() / 2;
            f32::from(*levels.select_nth_unstable(middle).1)
        })
        .collect();
    let usual = ModeFinder::new().mode(&brightness);
    let near: Vec<usize> = (0..training.frames).filter(|&i| (brightness[i] - usual).abs() <= ONE_LIGHT).collect();
    let enough = near.len() as f64 >= ENOUGH * training.frames as f64;
    training.select(if enough { near } else { (0..training.frames).collect() })
}

/// The components of frames around a center: as many as there are, up to `most`; nothing where there are none.
fn embed(
    training: &Training,
    frames: &[u8],
    center: &[f64],
    most: usize,
    tolerance: f64,
    runner: &Local,
) -> Result<Option<Model>> {
    let samples = training.samples(frames)?;
    for d in (1..=most.min(training.frames).min(training.pixels)).rev() {
        let mut config = scene_config(d);
        config.center = Center::Given(center.to_vec());
        config.tolerance = tolerance;
        // The subspace of a round is the angular embedding around a given center.
        config.method = Method::Angular;
        match steradian::fit(&config, &samples, runner) {
            // Fewer directions than components: fewer components.
            Err(Error::RankTooSmall { .. } | Error::InvalidArgument { .. }) => {}
            Err(Error::InvalidData(_)) => return Ok(None),
            other => return other.map(Some),
        }
    }
    Ok(None)
}

fn robust_scores(training: &Training, center: &[f64], model: &Model) -> Vec<Vec<f64>> {
    let scorer = Scorer::new(true, center, &model.components);
    (0..training.frames).into_par_iter().map(|frame| scorer.scores(training.frame(frame))).collect()
}

/// The scores of all frames along one component.
pub(crate) fn column(scores: &[Vec<f64>], k: usize) -> Vec<f64> {
    scores.iter().map(|scores| scores[k]).collect()
}

/// Holds scores within the trusted range of each component; the ranges.
fn hold(scores: &mut [Vec<f64>], d: usize) -> Vec<[f64; 2]> {
    let range = |k: usize| {
        let column = column(scores, k);
        let (low, high) = (quantile(&column, TAIL), quantile(&column, 1.0 - TAIL));
        let more = WIDENED * (high - low);
        [low - more, high + more]
    };
    let ranges: Vec<[f64; 2]> = (0..d).map(range).collect();
    for scores in scores {
        scores.iter_mut().zip(&ranges).for_each(|(s, [low, high])| *s = s.clamp(*low, *high));
    }
    ranges
}

/// A quantile, between neighbours where it falls between them.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// Scores as multiples of their largest.
fn lights(scores: &[Vec<f64>], range: &[[f64; 2]]) -> Vec<Vec<f32>> {
    let largest: Vec<f64> = range.iter().map(|[low, high]| low.abs().max(high.abs()).max(f64::MIN_POSITIVE)).collect();
    let relative = |scores: &Vec<f64>| scores.iter().zip(&largest).map(|(s, most)| (s / most) as f32).collect();
    scores.iter().map(relative).collect()
}

/// What is known of frames when they are cleaned.
struct FrameFit<'a> {
    model: &'a Model,
    scores: &'a [Vec<f64>],
    lights: Option<&'a [Vec<f32>]>,
    response: &'a [f32],
}

/// Frames with every cell far from the background replaced by it, but for those that show another light; how many do.
fn clean(
    training: &Training,
    center: &[f64],
    fitted: Option<&FrameFit<'_>>,
    scale: &[f64],
    cleaned: &mut [u8],
) -> usize {
    let (center, scale) = (single(center), single(scale));
    let components: Vec<Vec<f32>> = fitted.map_or(Vec::new(), |fitted| {
        (0..fitted.model.n_components()).map(|k| single(fitted.model.components.row(k))).collect()
    });
    let clean_frame = |(frame, out): (usize, &mut [u8])| {
        let mut expected = center.clone();
        let scores = fitted.map_or(&[][..], |fitted| &fitted.scores[frame]);
        for (s, component) in scores.iter().zip(&components) {
            let s = *s as f32;
            expected.iter_mut().zip(component).for_each(|(e, q)| *e += s * q);
        }
        if let Some(FrameFit { lights: Some(lights), response, .. }) = fitted {
            let light = &lights[frame];
            for (e, response) in expected.iter_mut().zip(response.chunks(light.len())) {
                *e += response.iter().zip(light).map(|(r, l)| r * l).sum::<f32>();
            }
        }
        let seen = training.frame(frame);
        let mut replaced = 0;
        for (((out, x), e), scale) in out.iter_mut().zip(seen).zip(&expected).zip(&scale) {
            let far = (f32::from(*x) - e).abs() > CELL_LIMIT as f32 * scale;
            *out = if far { gray_level(*e) } else { *x };
            replaced += usize::from(far);
        }
        let other_light = replaced as f64 > LIGHT * seen.len() as f64;
        if other_light {
            out.copy_from_slice(seen);
        }
        usize::from(other_light)
    };
    cleaned.par_chunks_mut(training.pixels).enumerate().map(clean_frame).sum()
}

fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}
