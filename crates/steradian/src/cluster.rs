//! Passes on other processes: the control flow of a fit runs here, sums come back, rows stay where they are.
//!
//! A [`Dispatch`] knows how to run a [`Job`] on every part of the data and to merge the sums along a fixed tree; Dask's
//! is in the Python package. [`Cluster`] makes a [`Runner`] of it, and [`Remote`] a [`Source`] whose few single samples
//! are fetched when a fit looks at them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::block::Block;
use crate::config::{Angle, Config, Counting, Screen, Solver};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::model::Model;
use crate::pass::{Fold, PairFold};
use crate::plan::Plan;
use crate::recipe::Recipe;
use crate::run::{Local, Runner};
use crate::solve::fit_on;
use crate::source::{Shape, Source};
use crate::sum::Sum;

/// The way to the processes that hold the rows.
pub trait Dispatch: Sync {
    /// The sum of all rows: the job's sums of every part, merged in the order of the data along a fixed tree.
    fn sum(&self, job: &Job<'_>, name: &'static str, pass: usize) -> Result<Sum>;

    /// These samples, in this order.
    fn fetch(&self, samples: &[usize]) -> Result<Arc<dyn Source + Send + Sync>>;
}

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

/// All rows, wherever they are.
pub struct Remote<'a> {
    dispatch: &'a dyn Dispatch,
    shape: Shape,
    near: Mutex<Arc<Fetched>>,
}

/// The samples that were fetched last.
struct Fetched {
    places: HashMap<usize, usize>,
    rows: Option<Arc<dyn Source + Send + Sync>>,
}

impl<'a> Remote<'a> {
    /// Rows of this shape behind `dispatch`.
    pub fn new(dispatch: &'a dyn Dispatch, shape: Shape) -> Self {
        let near = Mutex::new(Arc::new(Fetched { places: HashMap::new(), rows: None }));
        Self { dispatch, shape, near }
    }

    fn near(&self) -> Arc<Fetched> {
        Arc::clone(&self.near.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn fetch(&self, samples: &[usize]) -> Result<Arc<Fetched>> {
        let rows = self.dispatch.fetch(samples)?;
        let (asked, features) = ((samples.len(), self.shape.features), self.shape.features);
        let got = rows.shape();
        if (got.samples, got.features) != asked || got.element != self.shape.element {
            return Err(Error::data(format!(
                "{} samples of {features} features ({}) were asked for but {} of {} ({}) came; the data must not change \
                 during a fit",
                samples.len(),
                self.shape.element.name(),
                got.samples,
                got.features,
                got.element.name()
            )));
        }
        let places = samples.iter().enumerate().map(|(place, sample)| (*sample, place)).collect();
        Ok(Arc::new(Fetched { places, rows: Some(rows) }))
    }
}

impl Source for Remote<'_> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        let near = self.near();
        if samples.iter().any(|sample| !near.places.contains_key(sample)) {
            let mut samples = samples.to_vec();
            samples.sort_unstable();
            samples.dedup();
            let fetched = self.fetch(&samples)?;
            *self.near.lock().unwrap_or_else(PoisonError::into_inner) = fetched;
        }
        Ok(())
    }

    fn recipe(&self) -> Option<Recipe<'_>> {
        Some(Recipe::default())
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let mut near = self.near();
        // Samples are kept in ascending order, so neighbours lie side by side.
        if rows.clone().any(|row| !near.places.contains_key(&row)) {
            near = self.fetch(&rows.clone().collect::<Vec<_>>())?;
        }
        let (Some(source), Some(&place)) = (&near.rows, near.places.get(&rows.start)) else {
            return Ok(()); // no rows were asked for
        };
        source.visit(place..place + rows.len(), &mut |block| visit(Block::new(rows.start, block.data())))
    }
}
