//! The estimator as a builder: options, then `fit`.

use crate::config::{Center, Config, Method, Screen, Solver, Weighting};
use crate::error::Result;
use crate::model::Model;
use crate::run::Local;
use crate::source::Source;

/// Angular embedding with options; [`AngularEmbedding::fit`] runs it on local threads.
#[derive(Debug, Clone)]
pub struct AngularEmbedding {
    config: Config,
    threads: usize,
}

impl AngularEmbedding {
    /// `components` components around the spatial median.
    pub fn new(components: usize) -> Self {
        Self::preset(Method::Angular, components)
    }

    /// A method's preset; later options override it.
    pub fn preset(method: Method, components: usize) -> Self {
        Self { config: Config::new(method, components), threads: 0 }
    }

    /// Where samples are seen from.
    pub fn center(mut self, center: Center) -> Self {
        self.config.center = center;
        self
    }

    /// Who may speak.
    pub fn screen(mut self, screen: Screen) -> Self {
        self.config.screen = screen;
        self
    }

    /// How much a sample says.
    pub fn weighting(mut self, weighting: Weighting) -> Self {
        self.config.weighting = weighting;
        self
    }

    /// How the eigenvectors are found.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.config.solver = solver;
        self
    }

    /// The largest sine that counts as converged.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.config.tolerance = tolerance;
        self
    }

    /// The seed of every random choice.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Bytes that the fit may allocate.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.config.memory_limit = Some(bytes);
        self
    }

    /// The number of threads; 0 takes one per core. The answer does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The configuration as it stands.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Fits the model.
    pub fn fit(&self, source: &dyn Source) -> Result<Model> {
        crate::solve::fit(&self.config, source, &Local::new(self.threads)?)
    }
}
