//! The estimator as a builder: options, then `fit`.

use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::{Cells, Center, ComponentCount, Loss, Scaling, Solver, Weighting};
use crate::config::screen::Screen;
use crate::data::source::Source;
use crate::engine::local::Local;
use crate::error::Result;
use crate::model::Model;

/// Angular embedding with options; [`AngularEmbedding::fit`] runs it on local threads.
#[derive(Debug, Clone)]
pub struct AngularEmbedding {
    config: Config,
    threads: usize,
}

impl AngularEmbedding {
    /// The robust method: Stahel-Donoho screening, spatial median, IRLS on the sum of sines.
    pub fn new(components: impl Into<ComponentCount>) -> Self {
        Self::preset(Method::Robust, components)
    }

    /// A method's preset; later options override it.
    pub fn preset(method: Method, components: impl Into<ComponentCount>) -> Self {
        Self { config: Config::new(method, components), threads: 0 }
    }

    /// Sets the center that is subtracted from the samples.
    pub fn center(mut self, center: Center) -> Self {
        self.config.center = center;
        self
    }

    /// Sets the rule that selects the samples of the decomposition.
    pub fn screen(mut self, screen: Screen) -> Self {
        self.config.screen = screen;
        self
    }

    /// Sets the weight of each sample in the operator.
    pub fn weighting(mut self, weighting: Weighting) -> Self {
        self.config.weighting = weighting;
        self
    }

    /// Sets the objective that the fit minimizes.
    pub fn loss(mut self, loss: Loss) -> Self {
        self.config.loss = loss;
        self
    }

    /// Sets the treatment of cellwise outliers.
    pub fn cells(mut self, cells: Cells) -> Self {
        self.config.cells = cells;
        self
    }

    /// Sets the scaling of the features.
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.config.scaling = scaling;
        self
    }

    /// Sets the solver of the eigenproblems.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.config.solver = solver;
        self
    }

    /// Sets the tolerance: the largest accepted sine bound.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.config.tolerance = tolerance;
        self
    }

    /// Sets the seed of all random numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Sets the number of bytes that the fit may allocate.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.config.memory_limit = Some(bytes);
        self
    }

    /// Sets the number of threads; 0 means one per core. The result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Fits the model.
    ///
    /// # Errors
    /// As for [`fit`](crate::fit()).
    pub fn fit(&self, source: &dyn Source) -> Result<Model> {
        crate::fit::fit(&self.config, source, &Local::new(self.threads)?)
    }
}
