//! The mean, and with it the check that all data are finite.

use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::ColumnMeans;

/// The mean of all samples, or of the kept ones. One pass.
pub(crate) fn mean(source: &dyn Source, support: Option<&[bool]>, runner: &impl Runner) -> Result<Vec<f64>> {
    runner.run(&ColumnMeans::new(source.shape().features, support), source)
}

/// Data whose numbers are all finite, and their mean where the check has computed it.
pub(crate) struct Finite<'a> {
    pub source: &'a dyn Source,
    pub mean: Option<Vec<f64>>,
}

impl<'a> Finite<'a> {
    /// Checks that all numbers are finite: one pass for floating point, none for integers.
    pub(crate) fn check(source: &'a dyn Source, runner: &impl Runner) -> Result<Self> {
        let mean = if source.shape().element.is_float() { Some(mean(source, None, runner)?) } else { None };
        Ok(Self { source, mean })
    }

    /// A view of finite data whose own numbers are finite by construction.
    pub(crate) fn view(source: &'a dyn Source) -> Self {
        Self { source, mean: None }
    }
}
