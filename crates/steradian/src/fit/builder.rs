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
    /// The robust method: outlyingness screen, spatial median, least sum of sines.
    pub fn new(components: impl Into<ComponentCount>) -> Self {
        Self::preset(Method::Robust, components)
    }

    /// A method's preset; later options override it.
    pub fn preset(method: Method, components: impl Into<ComponentCount>) -> Self {
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

    /// What the fit makes small.
    pub fn loss(mut self, loss: Loss) -> Self {
        self.config.loss = loss;
        self
    }

    /// What happens to single bad cells.
    pub fn cells(mut self, cells: Cells) -> Self {
        self.config.cells = cells;
        self
    }

    /// Whether features are brought to one scale first.
    pub fn scaling(mut self, scaling: Scaling) -> Self {
        self.config.scaling = scaling;
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
        crate::fit::fit(&self.config, source, &Local::new(self.threads)?)
    }
}
