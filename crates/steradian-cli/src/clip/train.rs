//! Background model of a clip: loaded from a file, or trained on its frames.

use std::time::Instant;

use steradian::config::{Cosine, Screen};
use steradian::{Config, Error, Local, Model, Result, Source};
use steradian_baselines::PCP;
use steradian_clips::{FrameRange, SCENE, Separated, Separator, fit_scene, with_clip_statistics};

use super::pursuit::{LowRank, check_memory};
use crate::args::TrainingOptions;
use crate::files;

/// Remedy for a clip that exceeds the memory of the pursuit.
const REMEDY: &str = "train on fewer frames with --train or --stride, resize them with --resize, or use --method scene";

/// A background model and the time of its training.
pub struct TrainedModel {
    /// The model.
    pub model: Model,
    /// Seconds of the training; `None` if the model was loaded.
    pub seconds: Option<f64>,
    /// The low-rank part of the training frames of a pursuit.
    pub low_rank: Option<LowRank>,
}

impl TrainedModel {
    /// Separates a frame: relative to its low-rank part if it is a training frame of a pursuit, otherwise by the model.
    pub fn separate(&self, separator: &Separator, frame: usize, pixels: &[u8]) -> Separated {
        match self.low_rank.as_ref().and_then(|low_rank| low_rank.of(frame)) {
            Some(background) => separator.separate_from(pixels, background),
            None => separator.separate(pixels),
        }
    }
}

impl TrainingOptions {
    /// The configuration of a method other than `scene`.
    ///
    /// # Errors
    ///
    /// An option is given that the method does not have.
    pub fn config(&self) -> Result<Config> {
        let config = Config::new(self.method, self.n_components).with_seed(self.seed);
        let mut screen = config.screen().clone();
        if let Screen::Cone(cone) = &mut screen {
            // A frame darker than the center differs from a brighter one, so opposite directions are not equal.
            cone.cosine = Cosine::Signed;
        }
        self.cone.adjust(self.method.name(), &mut screen)?;
        check_memory(self.method.name(), self.method == PCP, self.memory)?;
        Ok(config.with_screen(screen))
    }

    /// Loads the model of `--model`, or trains one on the frames of the clip.
    pub fn load_or_train(&self, clip: &dyn Source, runner: &Local) -> Result<TrainedModel> {
        let config = self.config()?;
        if let Some(path) = &self.model {
            let model = files::read_model(path)?;
            check_size(&model, clip)?;
            return Ok(TrainedModel { model, seconds: None, low_rank: None });
        }
        let start = Instant::now();
        let range = self.train.clone().unwrap_or(0..clip.shape().samples);
        let frames = FrameRange::new(clip, range.clone())?;
        let (model, low_rank) = match self.method {
            SCENE => (fit_scene(&frames, self.n_components, runner)?, None),
            PCP => {
                let (model, low_rank) = LowRank::compute(&config, &frames, range, self.memory, REMEDY, runner)?;
                (with_clip_statistics(model, &frames, runner)?, Some(low_rank))
            }
            _ => (with_clip_statistics(steradian::fit(&config, &frames, runner)?, &frames, runner)?, None),
        };
        Ok(TrainedModel { model, seconds: Some(start.elapsed().as_secs_f64()), low_rank })
    }
}

/// Rejects a model for frames of another size.
fn check_size(model: &Model, clip: &dyn Source) -> Result<()> {
    let text = |size: Option<(usize, usize)>| match size {
        Some((height, width)) => format!("frames of {height} x {width} (height x width)"),
        None => "samples that are not images".to_string(),
    };
    if model.shape.image == clip.shape().image {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "--model: the model is for {} but the clip has {}; use a clip of that size, or --resize",
        text(model.shape.image),
        text(clip.shape().image)
    )))
}
