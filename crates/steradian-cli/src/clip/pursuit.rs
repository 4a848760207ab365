//! Principal component pursuit of pictures: their low-rank part, found within the memory there is.

use std::ops::Range;

use steradian::{Config, Error, Local, Matrix, Model, Result, Runner, Source};
use steradian_baselines::principal_component_pursuit;
use steradian_baselines::{PCP, any};
use steradian_clips::gray_level;

use crate::render::bytes;

/// The low-rank part of the pictures that a pursuit was made on.
pub struct LowRank {
    part: Matrix,
    /// Where these pictures are among all.
    range: Range<usize>,
    rank: usize,
    steps: usize,
}

impl LowRank {
    /// Makes the pursuit on all pictures of a source, which are these among all. Refuses, with `remedy`, what takes more than
    /// `memory`, or than the system can give where that is not said.
    pub fn find(
        config: &Config,
        pictures: &dyn Source,
        range: Range<usize>,
        memory: Option<u64>,
        remedy: &str,
        runner: &Local,
    ) -> Result<(Model, Self)> {
        let needed = any::plan(config, pictures, runner.threads())?.peak_memory_bytes;
        let (limit, may) = match memory {
            Some(limit) => (limit, "it may use"),
            None => (steradian_io::available_memory().unwrap_or(u64::MAX), "the system can give"),
        };
        if needed > limit {
            let shape = pictures.shape();
            return Err(Error::invalid_argument(format!(
                "the method pcp needs about {} for {} pictures of {} pixels, for it holds four arrays of doubles of that size, but \
                 {may} {}; {remedy}",
                bytes(needed),
                shape.samples,
                shape.features,
                bytes(limit)
            )));
        }
        let found = principal_component_pursuit(config, pictures, runner)?;
        let steps = found.model.iterations.iter().sum();
        Ok((found.model, Self { part: found.low_rank, range, rank: found.rank, steps }))
    }

    /// The low-rank part of one picture among all; nothing for one that was not learnt from.
    pub fn of(&self, picture: usize) -> Option<&[f64]> {
        self.range.contains(&picture).then(|| self.part.row(picture - self.range.start))
    }

    /// The low-rank part of all pictures, one after the other, as gray levels.
    pub fn levels(&self) -> Vec<u8> {
        self.part.data().iter().map(|level| gray_level(*level as f32)).collect()
    }

    /// Its rank around the mean.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// What was found, for people.
    pub fn words(&self) -> String {
        format!("rank {} after {} steps", self.rank, self.steps)
    }

    /// How many of so many pictures were not learnt from.
    pub fn outside(&self, count: usize) -> usize {
        count - self.range.len()
    }
}

/// Refuses a limit of memory for methods that do not need one.
pub fn check_memory(method: &str, is_pursuit: bool, memory: Option<u64>) -> Result<()> {
    match memory {
        Some(_) if !is_pursuit => Err(Error::invalid_argument(format!(
            "--memory limits the arrays of the pursuit, which --method {method} does not hold; use --method {} or leave \
             --memory out",
            PCP.name()
        ))),
        _ => Ok(()),
    }
}
