//! Principal component pursuit of images: their low-rank part, computed within a memory limit.

use std::ops::Range;

use steradian::engine::Runner;
use steradian::{Config, Error, Local, Matrix, Model, Result, Source};
use steradian_baselines::any;
use steradian_baselines::principal_component_pursuit;
use steradian_clips::gray_level;

use crate::config::not_of_method;
use crate::render::bytes;

/// The low-rank part of a range of images.
pub struct LowRank {
    part: Matrix,
    /// The range of these images among all images.
    range: Range<usize>,
    rank: usize,
    iterations: usize,
}

impl LowRank {
    /// Computes the pursuit of a source, whose images have the indices `range` among all images.
    ///
    /// # Errors
    ///
    /// The pursuit needs more than `memory`, or than the available memory if there is no limit; the message ends with
    /// `remedy`.
    pub fn compute(
        config: &Config,
        images: &dyn Source,
        range: Range<usize>,
        memory: Option<u64>,
        remedy: &str,
        runner: &Local,
    ) -> Result<(Model, Self)> {
        let needed = any::plan(config, images, runner.threads())?.peak_memory_bytes;
        let (limit, may) = match memory {
            Some(limit) => (limit, "may use"),
            None => (steradian_io::available_memory().unwrap_or(u64::MAX), "the system has only"),
        };
        if needed > limit {
            let shape = images.shape();
            return Err(Error::invalid_argument(format!(
                "method pcp needs about {} for {} images of {} pixels but {may} {}; {remedy}",
                bytes(needed),
                shape.samples,
                shape.features,
                bytes(limit)
            )));
        }
        let found = principal_component_pursuit(config, images, runner)?;
        let iterations = found.model.report.iterations.iter().sum();
        Ok((found.model, Self { part: found.low_rank, range, rank: found.rank, iterations }))
    }

    /// The low-rank part of an image by its index among all images; `None` outside the range.
    pub fn of(&self, image: usize) -> Option<&[f64]> {
        self.range.contains(&image).then(|| self.part.row(image - self.range.start))
    }

    /// The low-rank part of all images in gray levels, image after image.
    pub fn levels(&self) -> Vec<u8> {
        self.part.data().iter().map(|level| gray_level(*level as f32)).collect()
    }

    /// The rank of the low-rank part about the mean.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Rank and iterations as text of the report.
    pub fn text(&self) -> String {
        format!("rank {} after {} iterations", self.rank, self.iterations)
    }

    /// The number of images outside the range, of `count` images in total.
    pub fn outside(&self, count: usize) -> usize {
        count - self.range.len()
    }
}

/// Rejects a memory limit for methods other than pcp.
pub fn check_memory(method: &str, is_pursuit: bool, memory: Option<u64>) -> Result<()> {
    match memory {
        Some(_) if !is_pursuit => Err(not_of_method("--memory", "--method pcp", method)),
        _ => Ok(()),
    }
}
