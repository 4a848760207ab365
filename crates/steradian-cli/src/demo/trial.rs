//! Trial of one method on the scene: fit and evaluation against the ground truth.
//!
//! | measure | equation |
//! |---|---|
//! | PSNR | mean over frames of `10 log10(255^2 / mean (reconstruction - background)^2)` |
//! | F1 | `2 TP / (2 TP + FP + FN)` over all pixels of all frames; foreground is `abs(frame - reconstruction) > 25` |

use std::time::Instant;

use steradian::config::{Cone, Cosine, Screen};
use steradian::data::Block;
use steradian::{Config, Local, Method, Model, Result, Source};
use steradian_clips::{ClipStatistics, SCENE, scene_config};
use steradian_clips::{Separator, fit_scene};

use super::gray_image::GrayImage;
use super::scene::{FRAMES, PIXELS, Scene};

/// Number of components of every method: the illumination of the scene has two degrees of freedom.
pub const COMPONENTS: usize = 2;
/// Difference in gray levels above which a pixel is foreground.
pub const THRESHOLD: f64 = 25.0;
/// Frames in the report: one with a stationary person, one with moving people only.
pub const EXAMPLE_FRAMES: [usize; 2] = [120, 200];

/// A method of the comparison.
pub struct Contender {
    /// Name in file names.
    pub key: &'static str,
    /// Name in tables.
    pub label: &'static str,
    /// Configuration of the fit.
    pub config: Config,
}

/// The methods of the comparison.
pub fn contenders() -> [Contender; 4] {
    let mut tae = Config::new(Method::Tae, COMPONENTS);
    tae = tae.with_screen(Screen::Cone(Cone { cosine: Cosine::Signed, ..Cone::default() }));
    [
        Contender { key: "pca", label: "PCA", config: Config::new(Method::Pca, COMPONENTS) },
        Contender { key: "ae", label: "AE", config: Config::new(Method::Ae, COMPONENTS) },
        Contender { key: "tae", label: "TAE (signed)", config: tae },
        Contender { key: "scene", label: "scene", config: scene_config(COMPONENTS) },
    ]
}

/// Model and scores of a method.
pub struct Trial {
    /// The method.
    pub contender: Contender,
    /// The fitted model.
    pub model: Model,
    /// Seconds of the fit.
    pub seconds: f64,
    /// PSNR of the background, in dB.
    pub psnr: f64,
    /// F1 score of the foreground.
    pub f1: f64,
    /// The background at the median score of each component.
    pub background: GrayImage,
    /// Reconstruction and foreground of each example frame.
    pub examples: Vec<(GrayImage, GrayImage)>,
}

impl Trial {
    /// Fits a method and evaluates it.
    pub fn run(contender: Contender, scene: &Scene, source: &dyn Source, runner: &Local) -> Result<Self> {
        let start = Instant::now();
        let model = match contender.config.method() {
            SCENE => fit_scene(source, COMPONENTS, runner)?,
            _ => steradian::fit(&contender.config, source, runner)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let separator = ClipStatistics::of(&model)?.map(|_| Separator::new(&model)).transpose()?;
        let mut trial_scores = TrialScores::default();
        let mut scores = Vec::with_capacity(FRAMES * COMPONENTS);
        let mut examples = Vec::new();
        runner.for_each_block("evaluate", source, model.block_rows(), |block| {
            let (block_scores, backgrounds) = backgrounds(&model, separator.as_ref(), scene, block)?;
            for (row, reconstruction) in backgrounds.chunks(PIXELS).enumerate() {
                let t = block.first() + row;
                trial_scores.add(scene, t, reconstruction);
                if EXAMPLE_FRAMES.contains(&t) {
                    examples.push((
                        GrayImage::from_levels(reconstruction.iter().copied()),
                        foreground(scene, t, reconstruction),
                    ));
                }
            }
            scores.extend(block_scores);
            Ok(())
        })?;
        let background = GrayImage::from_levels(model.inverse(&medians(&scores))?);
        let (psnr, f1) = (trial_scores.psnr(), trial_scores.f1());
        Ok(Self { contender, model, seconds, psnr, f1, background, examples })
    }
}

/// Scores and backgrounds of a block: by projection, or by the separator of a background model.
fn backgrounds(
    model: &Model,
    separator: Option<&Separator>,
    scene: &Scene,
    block: &Block<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let Some(separator) = separator else {
        let scores = model.transform_block(block)?;
        let backgrounds = model.inverse(&scores)?;
        return Ok((scores, backgrounds));
    };
    let (mut scores, mut backgrounds) = (Vec::new(), Vec::new());
    for row in 0..block.rows() {
        let parts = separator.separate(scene.frame(block.first() + row));
        scores.extend(parts.scores);
        backgrounds.extend(parts.background.iter().map(|&level| f64::from(level)));
    }
    Ok((scores, backgrounds))
}

/// Absolute differences of a frame and its reconstruction.
fn differences<'a>(scene: &'a Scene, t: usize, reconstruction: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    scene.frame(t).iter().zip(reconstruction).map(|(&level, &background)| (f64::from(level) - background).abs())
}

/// The foreground, at twice the brightness for visibility.
fn foreground(scene: &Scene, t: usize, reconstruction: &[f64]) -> GrayImage {
    GrayImage::from_levels(differences(scene, t, reconstruction).map(|difference| 2.0 * difference))
}

/// The median of each component's scores.
fn medians(scores: &[f64]) -> Vec<f64> {
    let median = |k: usize| {
        let mut column: Vec<f64> = scores.iter().skip(k).step_by(COMPONENTS).copied().collect();
        column.sort_by(f64::total_cmp);
        0.5 * (column[(column.len() - 1) / 2] + column[column.len() / 2])
    };
    (0..COMPONENTS).map(median).collect()
}

/// Sums over frames for PSNR and F1.
#[derive(Default)]
struct TrialScores {
    frames: f64,
    decibels: f64,
    true_positives: f64,
    false_positives: f64,
    false_negatives: f64,
}

impl TrialScores {
    fn add(&mut self, scene: &Scene, t: usize, reconstruction: &[f64]) {
        let error = |(&expected, &level): (&f32, &f64)| (f64::from(expected) - level).powi(2);
        let mean = scene.background_frame(t).iter().zip(reconstruction).map(error).sum::<f64>() / PIXELS as f64;
        self.frames += 1.0;
        self.decibels += 10.0 * (255.0f64.powi(2) / mean).log10();
        for (&person, difference) in scene.person_frame(t).iter().zip(differences(scene, t, reconstruction)) {
            match (person, difference > THRESHOLD) {
                (true, true) => self.true_positives += 1.0,
                (false, true) => self.false_positives += 1.0,
                (true, false) => self.false_negatives += 1.0,
                (false, false) => {}
            }
        }
    }

    fn psnr(&self) -> f64 {
        self.decibels / self.frames
    }

    fn f1(&self) -> f64 {
        2.0 * self.true_positives / (2.0 * self.true_positives + self.false_positives + self.false_negatives)
    }
}

#[cfg(test)]
mod tests {
    use steradian::SliceSource;

    use super::*;
    use crate::clip::pursuit::LowRank;
    use crate::demo::scene::{HEIGHT, WIDTH};

    #[test]
    fn the_low_rank_part_is_closer_to_the_background_than_pca() {
        let scene = Scene::render();
        let source = SliceSource::new(&scene.frames, FRAMES, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
        let runner = Local::new(0).unwrap();
        let [pca, ..] = contenders();
        let pca = Trial::run(pca, &scene, &source, &runner).unwrap().psnr;
        let config = steradian_baselines::preset(steradian_baselines::PCP, COMPONENTS);
        let (_, low_rank) = LowRank::compute(&config, &source, 0..FRAMES, None, "", &runner).unwrap();
        let mut trial_scores = TrialScores::default();
        (0..FRAMES).for_each(|t| trial_scores.add(&scene, t, low_rank.of(t).unwrap()));
        assert!(trial_scores.psnr() > pca, "PSNR {} of pcp, {pca} of pca", trial_scores.psnr());
    }

    #[test]
    fn measures_follow_their_equations() {
        let scene = Scene {
            frames: vec![100; PIXELS],
            background: vec![110.0; PIXELS],
            person: (0..PIXELS).map(|pixel| pixel < 100).collect(),
        };
        // An error of 10 everywhere; foreground at 50 of the 100 pixels of the person and at 30 other pixels.
        let reconstruction: Vec<f64> =
            (0..PIXELS).map(|pixel| if (50..130).contains(&pixel) { 120.0 + 10.0 } else { 120.0 }).collect();
        let mut trial_scores = TrialScores::default();
        trial_scores.add(&scene, 0, &reconstruction);
        assert!((trial_scores.f1() - 100.0 / (100.0 + 30.0 + 50.0)).abs() < 1e-12);
        let mean = 100.0 + 300.0 * 80.0 / PIXELS as f64;
        assert!((trial_scores.psnr() - 10.0 * (65025.0 / mean).log10()).abs() < 1e-9);
        assert_eq!(medians(&[1.0, 9.0, 3.0, 5.0, 2.0, 7.0]), [2.0, 7.0]);
    }
}
