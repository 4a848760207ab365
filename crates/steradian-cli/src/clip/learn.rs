//! From options to a model of a clip: an earlier one, or one that is learnt from its frames.

use std::time::Instant;

use steradian::{Config, Cosine, Error, Local, Method, Model, Result, Screen, Source};
use steradian_clips::{FrameRange, fit_scene, with_clip_statistics};

use crate::args::LearnOptions;
use crate::files;

/// A model and the seconds it took to learn; none when it was there already.
pub struct Learnt {
    /// The model.
    pub model: Model,
    /// Seconds of the fit.
    pub seconds: Option<f64>,
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
        Ok(config)
    }

    /// Reads or learns the model for frames of this shape.
    pub fn learn(&self, clip: &dyn Source, runner: &Local) -> Result<Learnt> {
        let config = self.config()?;
        if let Some(path) = &self.model {
            let model = files::read_model(path)?;
            check_size(&model, clip)?;
            return Ok(Learnt { model, seconds: None });
        }
        let start = Instant::now();
        let frames = self.train.clone().unwrap_or(0..clip.shape().samples);
        let frames = FrameRange::new(clip, frames)?;
        let model = match self.method {
            Method::Scene => fit_scene(&frames, self.components, runner)?,
            _ => with_clip_statistics(steradian::fit(&config, &frames, runner)?, &frames, runner)?,
        };
        Ok(Learnt { model, seconds: Some(start.elapsed().as_secs_f64()) })
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
    Err(Error::asked(format!(
        "the model is for {} but the clip has {}; give a clip of the model's size, or shrink it with --scale",
        words(model.shape.image),
        words(clip.shape().image)
    )))
}
