//! The total variance that the variances of a model are shares of.
//!
//! | method | total |
//! |---|---|
//! | pca, empca | the sum over features of the variance (n - 1): the trace of the covariance; one pass |
//! | others | the sum over features of the squared robust scale of the kept samples; reads at most 2048 of them |

use std::borrow::Cow;

use super::feature_scales;
use crate::config::method::Method;
use crate::config::options::Scaling;
use crate::data::row_map::RowMap;
use crate::data::source::Source;
use crate::data::view::Changed;
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::Distances;
use crate::kernel::operand::Precision;
use crate::model::Model;

impl Model {
    /// The total variance in the data that the model was fitted on, in the units of its variances. The fit leaves it out
    /// unless it is asked for, since on wide data it can cost as much as the fit.
    pub fn measure_total_variance(&self, source: &dyn Source, runner: &Local) -> Result<f64> {
        self.check_width(source.shape())?;
        let samples = source.shape().samples;
        if samples != self.kept.len() {
            return Err(Error::asked(format!(
                "the model was fitted on {} samples but the data have {samples}; give the data of the fit",
                self.kept.len()
            )));
        }
        if matches!(self.config.method, Method::Pca | Method::Empca) {
            return self.trace(source, runner);
        }
        self.robust_total_variance(source, runner)
    }

    /// The same for methods whose variances are squared robust scales.
    pub(crate) fn robust_total_variance(&self, source: &dyn Source, runner: &impl Runner) -> Result<f64> {
        let Some(scale) = self.scale.as_ref().filter(|_| self.config.scaling != Scaling::None) else {
            return feature_scales::total_variance(source, Some(&self.kept), runner);
        };
        let scaled = Changed::new(source, RowMap::Scale(Cow::Borrowed(scale)));
        feature_scales::total_variance(&scaled, Some(&self.kept), runner)
    }

    fn trace(&self, source: &dyn Source, runner: &Local) -> Result<f64> {
        let mut squares = 0.0;
        runner.for_each_block("total variance", source, self.block_rows(), |block| {
            squares += self.squared_lengths_block(block)?.iter().sum::<f64>();
            Ok(())
        })?;
        Ok(squares / (source.shape().samples as f64 - 1.0))
    }

    /// The total variance of the data of the fit, in the units of the variances, by passes that any runner makes.
    pub fn total_variance_on(&self, source: &dyn Source, runner: &impl Runner) -> Result<f64> {
        if self.config.method != Method::Pca {
            return self.robust_total_variance(source, runner);
        }
        let shape = source.shape();
        let vectors = self.components.transposed();
        let measured = runner.run(&Distances::new(&self.center, &vectors, Precision::Double, shape.element), source)?;
        let squares: f64 = measured.lengths.iter().map(|length| length * length).sum();
        Ok(squares / (shape.samples as f64 - 1.0))
    }
}
