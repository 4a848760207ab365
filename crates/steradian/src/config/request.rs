//! A request: a configuration that suits data of a shape and the runner of its passes; every rejection before the first pass.

use std::borrow::Cow;

use super::Config;
use super::options::{Center, ComponentCount, Loss, Solver, Weighting};
use super::screen::{Angle, Cone, Outlyingness, PivotSearch, Screen};
use crate::data::source::Shape;
use crate::error::{Error, Result};

/// A configuration that was checked.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    config: Cow<'a, Config>,
    pairs: bool,
}

impl<'a> Request<'a> {
    /// Checks a configuration for data of this shape; `pairs` is whether the runner can compare every pair of samples.
    pub fn new(config: &'a Config, shape: &Shape, pairs: bool) -> Result<Self> {
        check(config, shape)?;
        let config = if pairs { Cow::Borrowed(config) } else { Cow::Owned(without_pairs(config)?) };
        Ok(Self { config, pairs })
    }

    /// The configuration as it runs: without pairs of samples, the pivot of a cone is found by elimination.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The solvers to choose from.
    pub(crate) fn solvers(&self) -> &'static [Solver] {
        if self.pairs { &[Solver::Scatter, Solver::Gram, Solver::Krylov] } else { &[Solver::Scatter, Solver::Krylov] }
    }
}

fn check(config: &Config, shape: &Shape) -> Result<()> {
    let (n, features) = (shape.samples, shape.features);
    if n == 0 || features == 0 {
        return Err(Error::invalid_data(format!(
            "the data are empty ({n} samples x {features} features); nothing to fit"
        )));
    }
    if n == 1 {
        return Err(Error::invalid_data(
            "a single sample has no direction around its own center; at least 2 are needed",
        ));
    }
    match config.components {
        ComponentCount::Count(0) => return Err(Error::invalid_argument("n_components = 0; ask for at least 1")),
        ComponentCount::Count(d) if d > n.min(features) => {
            return Err(Error::invalid_argument(format!(
                "n_components = {d} exceeds min(n_samples, n_features) = {}; ask for at most {}",
                n.min(features),
                n.min(features)
            )));
        }
        ComponentCount::VarianceFraction(share) if !(share > 0.0 && share < 1.0) => {
            return Err(Error::invalid_argument(format!(
                "n_components = {share} is no share; give a number between 0 and 1, a whole number, or auto"
            )));
        }
        _ => {}
    }
    if let Screen::Outlyingness(screen) = &config.screen {
        check_outlyingness(screen, n, config.components.at_most(shape))?;
    }
    if config.loss == Loss::Sine && config.weighting == Weighting::Uniform {
        return Err(Error::invalid_argument("the sum of sines is about directions; use it with angular weights"));
    }
    if let Screen::Cone(Cone { angle: Angle::Degrees(angle), .. }) = config.screen
        && !(angle > 0.0 && angle <= 90.0)
    {
        return Err(Error::invalid_argument(format!(
            "the angle of the cone is {angle} degrees; it must be above 0 and at most 90"
        )));
    }
    if !(config.tolerance > 0.0 && config.tolerance < 1.0) {
        return Err(Error::invalid_argument(format!(
            "the tolerance is {}; it must lie between 0 and 1",
            config.tolerance
        )));
    }
    if let Center::Given(center) = &config.center {
        if center.len() != features {
            return Err(Error::invalid_argument(format!(
                "the given center has {} numbers but the data have {features} features; give one number per feature",
                center.len()
            )));
        }
        if let Some(at) = center.iter().position(|x| !x.is_finite()) {
            return Err(Error::invalid_argument(format!(
                "the given center is {} at feature {at}; it must be finite",
                center[at]
            )));
        }
    }
    Ok(())
}

fn check_outlyingness(screen: &Outlyingness, n: usize, d: usize) -> Result<()> {
    if n < d + 3 {
        return Err(Error::invalid_argument(format!(
            "{n} samples are too few for the outlyingness screen with n_components = {d}; it needs at least {}, or use \
             the method angular",
            d + 3
        )));
    }
    let Some(pairs) = &screen.pairs else {
        return if screen.directions > 0 {
            Ok(())
        } else {
            Err(Error::invalid_argument("the outlyingness screen was given 0 directions; ask for at least 1"))
        };
    };
    if pairs.is_empty() {
        return Err(Error::invalid_argument("the list of pairs is empty; give at least one pair of samples"));
    }
    match pairs.iter().flatten().find(|&&sample| sample >= n) {
        Some(sample) => Err(Error::invalid_argument(format!(
            "a given pair names sample {sample}, but there are {n}; samples count from 0"
        ))),
        None => Ok(()),
    }
}

/// The configuration by ways that compare no pairs of samples; rejects what has no such way.
fn without_pairs(config: &Config) -> Result<Config> {
    let rejected = |what: &str, remedy: &str| {
        let why = "compares every pair of samples, and on a cluster rows stay where they are";
        Err(Error::invalid_argument(format!("{what} {why}; {remedy}, or fit on one machine")))
    };
    let mut apart = config.clone();
    if apart.solver == Solver::Gram {
        return rejected("the gram solver", "use the solver krylov, scatter or auto");
    }
    if let Screen::Cone(cone) = &mut apart.screen {
        if cone.counting == PivotSearch::Exact {
            return rejected("the exact count of the cone (TAE)", "leave exact out, and candidates are eliminated");
        }
        if cone.angle == Angle::Auto {
            return rejected("the automatic angle of the cone", "give the angle in degrees");
        }
        cone.counting = PivotSearch::Elimination;
    }
    Ok(apart)
}
