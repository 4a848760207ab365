//! The background model of a clip: read from a file, or trained on its frames.

use std::time::Instant;

use steradian::{Config, Cosine, Error, Local, Model, Result, Screen, Source};
use steradian_baselines::PCP;
use steradian_clips::{FrameRange, SCENE, Separated, Separator, fit_scene, with_clip_statistics};

use super::pursuit::{LowRank, check_memory};
use crate::args::LearnOptions;
use crate::files;

/// What to do about a clip that the pursuit cannot hold.
const REMEDY: &str = "learn from fewer frames with --train or --every, shrink them with --scale, or use --method scene, which \
                      holds 400 frames of bytes at most";

/// A model and how it was learnt.
pub struct TrainedModel {
    /// The model.
    pub model: Model,
    /// Seconds of the fit; none when the model was there already.
    pub seconds: Option<f64>,
    /// The backgrounds of the frames that a pursuit was made on.
    pub low_rank: Option<LowRank>,
}

impl TrainedModel {
    /// Takes a frame of the clip apart: around its low-rank part where a pursuit has found that, else as the model sees it.
    pub fn separate(&self, separator: &Separator, frame: usize, pixels: &[u8]) -> Separated {
        match self.low_rank.as_ref().and_then(|low_rank| low_rank.of(frame)) {
            Some(background) => separator.separate_from(pixels, background),
            None => separator.separate(pixels),
        }
    }
}

impl LearnOptions {
    /// The configuration of a method that is not made for clips; refuses options that are not the method's.
    pub fn config(&self) -> Result<Config> {
        let mut config = Config::new(self.method, self.components);
        config.seed = self.seed;
        if let Screen::Cone(cone) = &mut config.screen {
            // Light comes and goes: a frame that is darker than the center is not like one that is brighter.
            cone.cosine = Cosine::Signed;
        }
        self.cone.adjust(self.method.name(), &mut config.screen)?;
        check_memory(self.method.name(), self.method == PCP, self.memory)?;
        Ok(config)
    }

    /// Reads or learns the model for frames of this shape.
    pub fn learn(&self, clip: &dyn Source, runner: &Local) -> Result<TrainedModel> {
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
            SCENE => (fit_scene(&frames, self.components, runner)?, None),
            PCP => {
                let (model, low_rank) = LowRank::find(&config, &frames, range, self.memory, REMEDY, runner)?;
                (with_clip_statistics(model, &frames, runner)?, Some(low_rank))
            }
            _ => (with_clip_statistics(steradian::fit(&config, &frames, runner)?, &frames, runner)?, None),
        };
        Ok(TrainedModel { model, seconds: Some(start.elapsed().as_secs_f64()), low_rank })
    }
}

fn check_size(model: &Model, clip: &dyn Source) -> Result<()> {
    let words = |size: Option<(usize, usize)>| match size {
        Some((height, width)) => format!("frames of {height} x {width} (height x width)"),
        None => "samples that are no images".to_string(),
    };
    if model.shape.image == clip.shape().image {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "the model is for {} but the clip has {}; give a clip of the model's size, or shrink it with --scale",
        words(model.shape.image),
        words(clip.shape().image)
    )))
}
