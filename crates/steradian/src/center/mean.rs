//! The mean, and with it the check that all data are finite.

use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::Moments;

/// The mean of all samples, or of the kept ones. One pass.
pub(crate) fn mean(source: &dyn Source, kept: Option<&[bool]>, runner: &impl Runner) -> Result<Vec<f64>> {
    runner.run(&Moments::new(source.shape().features, kept), source)
}
