//! One method tried on the scene: fitted, then measured against the truth.
//!
//! | measure | equation |
//! |---|---|
//! | PSNR | mean over frames of `10 log10(255^2 / mean (reconstruction - empty room)^2)` |
//! | F1 | `2 TP / (2 TP + FP + FN)` over all pixels of all frames; foreground is `abs(frame - reconstruction) > 25` |

use std::time::Instant;

use steradian::{Block, Cone, Config, Cosine, Local, Method, Model, Result, Screen, Source};
use steradian_clips::{ClipStatistics, SCENE, scene_config};
use steradian_clips::{Separator, fit_scene};

use super::gray_image::GrayImage;
use super::scene::{FRAMES, PIXELS, Scene};

/// Components of every method: the scene's light has two degrees of freedom.
pub const COMPONENTS: usize = 2;
/// Gray levels beyond which a pixel counts as foreground.
pub const THRESHOLD: f64 = 25.0;
/// The frames that are shown: one while somebody rests, one with people on their way.
pub const SHOWN: [usize; 2] = [120, 200];

/// A method with its name for files and for people.
pub struct Contender {
    /// For file names.
    pub key: &'static str,
    /// For people.
    pub label: &'static str,
    /// How it is fitted.
    pub config: Config,
}

/// The methods that are compared.
pub fn contenders() -> [Contender; 4] {
    let mut tae = Config::new(Method::Tae, COMPONENTS);
    tae.screen = Screen::Cone(Cone { cosine: Cosine::Signed, ..Cone::default() });
    [
        Contender { key: "pca", label: "PCA", config: Config::new(Method::Pca, COMPONENTS) },
        Contender { key: "ae", label: "AE", config: Config::new(Method::Ae, COMPONENTS) },
        Contender { key: "tae", label: "TAE (signed)", config: tae },
        Contender { key: "scene", label: "scene", config: scene_config(COMPONENTS) },
    ]
}

/// What came out.
pub struct Trial {
    /// Who was tried.
    pub contender: Contender,
    /// The fitted model.
    pub model: Model,
    /// Seconds of the fit.
    pub seconds: f64,
    /// Of the background, in dB.
    pub psnr: f64,
    /// Of the foreground.
    pub f1: f64,
    /// The background at the median score of each component.
    pub background: GrayImage,
    /// Reconstruction and foreground of each shown frame.
    pub shown: Vec<(GrayImage, GrayImage)>,
}

impl Trial {
    /// Fits and measures.
    pub fn run(contender: Contender, scene: &Scene, source: &dyn Source, runner: &Local) -> Result<Self> {
        let start = Instant::now();
        let model = match contender.config.method {
            SCENE => fit_scene(source, COMPONENTS, runner)?,
            _ => steradian::fit(&contender.config, source, runner)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let separator = ClipStatistics::of(&model)?.map(|_| Separator::new(&model)).transpose()?;
        let mut tally = TrialScores::default();
        let mut scores = Vec::with_capacity(FRAMES * COMPONENTS);
        let mut shown = Vec::new();
        runner.for_each_block("measure", source, model.block_rows(), |block| {
            let (block_scores, backgrounds) = backgrounds(&model, separator.as_ref(), scene, block)?;
            for (row, reconstruction) in backgrounds.chunks(PIXELS).enumerate() {
                let t = block.first() + row;
                tally.add(scene, t, reconstruction);
                if SHOWN.contains(&t) {
                    shown.push((
                        GrayImage::from_levels(reconstruction.iter().copied()),
                        foreground(scene, t, reconstruction),
                    ));
                }
            }
            scores.extend(block_scores);
            Ok(())
        })?;
        let background = GrayImage::from_levels(model.inverse(&medians(&scores))?);
        let (psnr, f1) = (tally.psnr(), tally.f1());
        Ok(Self { contender, model, seconds, psnr, f1, background, shown })
    }
}

/// The scores and backgrounds of a block: by projection, or as a model made for clips sees them.
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

fn differences<'a>(scene: &'a Scene, t: usize, reconstruction: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    scene.frame(t).iter().zip(reconstruction).map(|(&seen, &empty)| (f64::from(seen) - empty).abs())
}

/// The foreground, twice as bright so that it can be seen.
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

/// Sums over frames.
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
        let error = |(&truth, &found): (&f32, &f64)| (f64::from(truth) - found).powi(2);
        let mean = scene.empty_frame(t).iter().zip(reconstruction).map(error).sum::<f64>() / PIXELS as f64;
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
    fn the_low_rank_part_is_nearer_to_the_empty_room_than_pca() {
        let scene = Scene::render();
        let source = SliceSource::new(&scene.frames, FRAMES, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
        let runner = Local::new(0).unwrap();
        let [pca, ..] = contenders();
        let pca = Trial::run(pca, &scene, &source, &runner).unwrap().psnr;
        let config = steradian_baselines::preset(steradian_baselines::PCP, COMPONENTS);
        let (_, low_rank) = LowRank::find(&config, &source, 0..FRAMES, None, "", &runner).unwrap();
        let mut tally = TrialScores::default();
        (0..FRAMES).for_each(|t| tally.add(&scene, t, low_rank.of(t).unwrap()));
        assert!(tally.psnr() > pca, "{} of the pursuit against {pca} of PCA", tally.psnr());
    }

    #[test]
    fn measures_follow_their_equations() {
        let scene = Scene {
            frames: vec![100; PIXELS],
            empty: vec![110.0; PIXELS],
            person: (0..PIXELS).map(|pixel| pixel < 100).collect(),
        };
        // Off by 10 everywhere; foreground where 50 of the 100 are, and at 30 other places.
        let reconstruction: Vec<f64> =
            (0..PIXELS).map(|pixel| if (50..130).contains(&pixel) { 120.0 + 10.0 } else { 120.0 }).collect();
        let mut tally = TrialScores::default();
        tally.add(&scene, 0, &reconstruction);
        assert!((tally.f1() - 100.0 / (100.0 + 30.0 + 50.0)).abs() < 1e-12);
        let mean = 100.0 + 300.0 * 80.0 / PIXELS as f64;
        assert!((tally.psnr() - 10.0 * (65025.0 / mean).log10()).abs() < 1e-9);
        assert_eq!(medians(&[1.0, 9.0, 3.0, 5.0, 2.0, 7.0]), [2.0, 7.0]);
    }
}
