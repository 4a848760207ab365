//! Passes on other processes: the control flow of a fit runs here, sums come back, rows stay where they are.
//!
//! A [`Dispatch`] knows how to run a [`Job`] on every part of the data and to merge the sums along a fixed tree; Dask's
//! is in the Python package. [`Cluster`] makes a [`Runner`] of it, and [`Remote`] a [`Source`] whose few single samples
//! are fetched when a fit looks at them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::job::Job;
use super::source::{Dispatch, Remote};
use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::Solver;
use crate::config::screen::{Angle, Counting, Screen};
use crate::data::source::Source;
use crate::engine::fold::{Fold, PairFold};
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::fit::fit_on;
use crate::fit::plan::Plan;
use crate::folds::Distances;
use crate::kernel::operand::Precision;
use crate::model::Model;

/// Runs passes where the rows are, and all else on threads of this process.
pub struct Cluster<'a> {
    dispatch: &'a dyn Dispatch,
    local: Local,
    samples: usize,
    passes: AtomicUsize,
}

impl<'a> Cluster<'a> {
    /// For data of this many samples in all; `local` is for what is done here.
    pub fn new(dispatch: &'a dyn Dispatch, samples: usize, local: Local) -> Self {
        Self { dispatch, local, samples, passes: AtomicUsize::new(0) }
    }

    /// Fits a model to all samples. What needs every pair of samples is not chosen, and refused where asked for: the
    /// pivot of a cone is found by elimination, however few samples there are.
    pub fn fit(&self, config: &Config, source: &Remote<'_>) -> Result<Model> {
        let apart = without_pairs(config)?;
        let solver = Plan::without_pairs(&apart, source.shape(), self.threads())?.solver;
        let mut model = fit_on(&Config { solver, ..apart }, source, self)?;
        model.config = config.clone();
        Ok(model)
    }

    /// The total variance of the data of the fit, in the units of the variances.
    pub fn total_variance(&self, model: &Model, source: &Remote<'_>) -> Result<f64> {
        if model.config.method != Method::Pca {
            return model.robust_total_variance(source, self);
        }
        let element = source.shape().element;
        let vectors = model.components.transposed();
        let measured = self.run(&Distances::new(&model.center, &vectors, Precision::Double, element), source)?;
        let squares: f64 = measured.lengths.iter().map(|length| length * length).sum();
        Ok(squares / (self.samples as f64 - 1.0))
    }
}

/// What was asked for, by ways that compare no pairs of samples; refuses what has no such way.
fn without_pairs(config: &Config) -> Result<Config> {
    let refused = |what: &str, remedy: &str| {
        let why = "compares every pair of samples, and on a cluster rows stay where they are";
        Err(Error::asked(format!("{what} {why}; {remedy}, or fit on one machine")))
    };
    let mut apart = config.clone();
    if apart.solver == Solver::Gram {
        return refused("the gram solver", "use the solver krylov, scatter or auto");
    }
    if let Screen::Cone(cone) = &mut apart.screen {
        if cone.counting == Counting::Exact {
            return refused("the exact count of the cone (TAE)", "leave exact out, and candidates are eliminated");
        }
        if cone.angle == Angle::Auto {
            return refused("the automatic angle of the cone", "give the angle in degrees");
        }
        cone.counting = Counting::Elimination;
    }
    Ok(apart)
}

impl Runner for Cluster<'_> {
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out> {
        let job = Job::over(fold, source)?;
        let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        let sum = self.dispatch.sum(&job, fold.name(), pass)?;
        job.finish(fold, &sum, self.samples)
    }

    fn run_pairs<F: PairFold>(&self, fold: &F, _: &dyn Source, _: usize) -> Result<F::Out> {
        Err(Error::asked(format!(
            "the pass \"{}\" compares every pair of samples, and on a cluster rows stay where they are; fit on one machine",
            fold.name()
        )))
    }

    fn compute<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.local.compute(work)
    }

    fn check_cancelled(&self) -> Result<()> {
        self.local.check_cancelled()
    }

    fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    fn threads(&self) -> usize {
        self.local.threads()
    }
}
