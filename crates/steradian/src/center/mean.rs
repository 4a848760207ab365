//! The mean of the samples, and the check that all cells are finite.

use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::ColumnMeans;

/// The mean of all samples, or of those in `support`. Cost: one pass.
pub(crate) fn mean(source: &dyn Source, support: Option<&[bool]>, runner: &impl Runner) -> Result<Vec<f64>> {
    runner.run(&ColumnMeans::new(source.shape().features, support), source)
}

/// Data whose cells are all finite, and their mean where the check has computed it.
pub(crate) struct Finite<'a> {
    pub source: &'a dyn Source,
    pub mean: Option<Vec<f64>>,
}

impl<'a> Finite<'a> {
    /// Checks that all cells are finite. Cost: one pass for floating-point data, none for integers.
    pub(crate) fn check(source: &'a dyn Source, runner: &impl Runner) -> Result<Self> {
        let mean = if source.shape().element.is_float() { Some(mean(source, None, runner)?) } else { None };
        Ok(Self { source, mean })
    }

    /// A view of finite data that is finite by construction; it is not read.
    pub(crate) fn view(source: &'a dyn Source) -> Self {
        Self { source, mean: None }
    }
}
