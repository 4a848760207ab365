//! The operations of the robust rounds by passes over the data.
//!
//! Points and vectors are in the units of the data, and each operation is one pass or several (`rounds.rs` calls them).

use super::backend::{FitBackend, FitWeights};
use crate::center::spatial_median::{self, Start};
use crate::center::{self, mean};
use crate::config::Config;
use crate::config::options::Center;
use crate::config::screen::Outlyingness;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Distances, SampleDistances, WeightedRows};
use crate::kernel::operand::Precision;
use crate::numeric::linalg::Matrix;
use crate::screen::outlyingness::{self, OutlyingnessResult};
use crate::solver::certificate::Decomposed;
use crate::solver::decompose::Decomposer;

/// The backend by passes: points and vectors have D coordinates, and each operation is one pass or several.
pub(crate) struct PassBackend<'a, 'b, R> {
    config: &'a Config,
    decomposer: &'a Decomposer<'b, R>,
    warnings: &'a mut Vec<String>,
    /// The starting point of the next spatial median.
    start: Option<Start>,
}

impl<'a, 'b, R: Runner> PassBackend<'a, 'b, R> {
    pub(crate) fn new(config: &'a Config, decomposer: &'a Decomposer<'b, R>, warnings: &'a mut Vec<String>) -> Self {
        Self { config, decomposer, warnings, start: None }
    }
}

fn directions<'a>(around: &FitWeights<'a, Vec<f64>>) -> WeightedRows<'a> {
    let directions = WeightedRows::new(around.point, around.weighting, around.support);
    match around.factors {
        Some(factors) => directions.reweighted(factors),
        None => directions,
    }
}

impl<R: Runner> FitBackend for PassBackend<'_, '_, R> {
    type Point = Vec<f64>;
    type Vectors = Matrix;

    fn outlyingness(&mut self, screen: &Outlyingness) -> Result<OutlyingnessResult> {
        let Decomposer { d, source, seed, runner, .. } = *self.decomposer;
        outlyingness::outlyingness(screen, d, source, seed, runner)
    }

    fn mean(&mut self, support: &[bool]) -> Result<Vec<f64>> {
        mean::mean(self.decomposer.source, Some(support), self.decomposer.runner)
    }

    fn center(&mut self, support: &[bool]) -> Result<Vec<f64>> {
        let Decomposer { source, seed, runner, .. } = *self.decomposer;
        if self.config.center != Center::SpatialMedian {
            return center::closed_form(&self.config.center, source, Some(support), runner);
        }
        let start = match self.start.take() {
            Some(start) => start,
            None => Start::within(source, Some(support), seed)?,
        };
        let (point, warning) = spatial_median::by_passes(source, Some(support), &start, runner)?;
        self.warnings.extend(warning);
        self.start = Some(start.at(point.clone()));
        Ok(point)
    }

    fn solve_approx(&mut self, around: &FitWeights<'_, Vec<f64>>, start: Option<&Matrix>) -> Result<Matrix> {
        self.decomposer.solve_approx(directions(around), start)
    }

    fn count(vectors: &Matrix) -> usize {
        vectors.columns()
    }

    fn distances(&mut self, point: &Vec<f64>, vectors: &Matrix) -> Result<SampleDistances> {
        let Decomposer { d, source, runner, .. } = *self.decomposer;
        let (vectors, element) = (vectors.first_columns(d), source.shape().element);
        runner.run(&Distances::new(point, &vectors, Precision::Double, element), source)
    }

    fn solve_certified(
        &mut self,
        around: &FitWeights<'_, Vec<f64>>,
        start: Option<&Matrix>,
    ) -> Result<(Vec<f64>, Decomposed)> {
        Ok((around.point.clone(), self.decomposer.solve_certified(directions(around), None, start)?))
    }
}
