//! A request: a configuration that was checked against the shape of the data and the abilities of the runner.
//!
//! Every rejection that needs no data happens here, once per fit, before the first pass.

use super::Config;
use super::options::{Cells, Center, ComponentCount, Loss, Missing, Solver, Weighting};
use super::screen::{Angle, Cone, Outlyingness, PivotSearch, Screen};
use crate::data::source::Shape;
use crate::error::{Error, Result};

/// Largest number of projection directions, of which each takes a part of a pass and of memory.
pub const MAX_DIRECTIONS: usize = 1_000_000;

/// A checked configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    given: Config,
    config: Config,
    pairs: bool,
}

impl Request {
    /// Checks a configuration for data of this shape; `pairs` is true if the runner can compare every pair of samples.
    ///
    /// # Errors
    /// For data without samples or features, and for values out of range or that do not suit the shape, the method or the runner.
    pub fn new(config: &Config, shape: &Shape, pairs: bool) -> Result<Self> {
        check(config, shape)?;
        let effective = if pairs { config.clone() } else { without_pairs(config)? };
        Ok(Self { given: config.clone(), config: effective, pairs })
    }

    /// The configuration as it runs: without pairs of samples, the pivot of a cone is found by elimination.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration as it was given, which models contain.
    pub fn given(&self) -> &Config {
        &self.given
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
            "the data are empty ({n} samples x {features} features); at least 2 samples and 1 feature are required"
        )));
    }
    if n == 1 {
        return Err(Error::invalid_data(
            "a single sample has no direction relative to its own center; at least 2 samples are required",
        ));
    }
    check_count(config.n_components, n.min(features))?;
    if config.missing == Missing::Use && config.method.missing() == Missing::Error {
        return Err(Error::invalid_parameter(
            "missing",
            format!(
                "missing = use is not supported by method {}; use the method robust, cells, angular or pca, or missing = error",
                config.method.name()
            ),
        ));
    }
    if let Screen::Outlyingness(screen) = &config.screen {
        check_outlyingness(screen, n, config.n_components.at_most(shape))?;
    }
    check_estimator(config)?;
    if let Screen::Cone(Cone { max_angle: Angle::Degrees(degrees), .. }) = config.screen
        && !(degrees > 0.0 && degrees <= 90.0)
    {
        return Err(Error::invalid_parameter(
            "max_angle",
            format!("max_angle = {degrees} degrees; expected an angle above 0 and at most 90 degrees"),
        ));
    }
    if !(config.tolerance > 0.0 && config.tolerance < 1.0) {
        return Err(Error::invalid_parameter(
            "tolerance",
            format!("the tolerance is {}; expected a number between 0 and 1", config.tolerance),
        ));
    }
    check_order(config)?;
    check_center(&config.center, features)
}

/// Rejects options that the method does not have.
fn check_estimator(config: &Config) -> Result<()> {
    let rejected = |parameter: &'static str, what: &str, remedy: &str| {
        let method = config.method.name();
        Err(Error::invalid_parameter(parameter, format!("method {method} has no {what}; {remedy}")))
    };
    if config.loss == Loss::Sine {
        return Err(Error::invalid_parameter(
            "loss",
            "the sum of sines is not fitted any more; use the method robust, or angular",
        ));
    }
    if config.loss != Loss::Student {
        if config.skew {
            return rejected("skew", "adjustment for skewed features", "use the method robust");
        }
        if config.cells != Cells::Never {
            return rejected("cells", "detection of bad cells", "use the method robust or cells");
        }
        return Ok(());
    }
    if config.center != Center::Mean {
        return rejected("center", "choice of the center", "use the method angular or ae");
    }
    if config.solver != Solver::Auto {
        return rejected("solver", "choice of the solver", "use the method angular, ae or pca");
    }
    if config.robust_scores {
        return rejected("robust_scores", "separate robust scores, since its scores are robust", "leave them out");
    }
    if let Screen::Cone(_) = config.screen {
        return rejected("screen", "cone", "use the method tae");
    }
    if let Screen::Outlyingness(Outlyingness { pairs: Some(_), .. }) = config.screen {
        return rejected("pairs", "choice of the pairs of samples", "choose their number by n_directions");
    }
    if config.weighting != Weighting::Uniform {
        return rejected("weighting", "weighting by norms", "use the method angular");
    }
    Ok(())
}

fn check_count(n_components: ComponentCount, most: usize) -> Result<()> {
    let problem = match n_components {
        ComponentCount::Count(0) => "n_components = 0; use at least 1".to_owned(),
        ComponentCount::Count(d) if d > most => {
            format!("n_components = {d} exceeds min(n_samples, n_features) = {most}; use at most {most}")
        }
        ComponentCount::VarianceFraction(fraction) if !(fraction > 0.0 && fraction < 1.0) => format!(
            "invalid number of components {fraction}: expected an integer >= 1, a variance fraction in (0, 1), or auto"
        ),
        _ => return Ok(()),
    };
    Err(Error::invalid_parameter("n_components", problem))
}

fn check_order(config: &Config) -> Result<()> {
    let on_the_sphere = config.weighting == Weighting::InverseNorm && config.loss == Loss::SquaredCosine;
    if config.order.is_default() || on_the_sphere {
        return Ok(());
    }
    Err(Error::invalid_parameter(
        "order",
        format!(
            "order = {} applies to methods with angular eigenvalues, not to {}; use the method angular, ae or tae",
            config.order.name(),
            config.method.name()
        ),
    ))
}

fn check_center(center: &Center, features: usize) -> Result<()> {
    let Center::Given(center) = center else { return Ok(()) };
    let problem = if center.len() != features {
        format!(
            "the given center has {} values but the data have {features} features; give one value per feature",
            center.len()
        )
    } else if let Some(at) = center.iter().position(|x| !x.is_finite()) {
        format!("the given center is {} at feature {at}; expected finite values", center[at])
    } else {
        return Ok(());
    };
    Err(Error::invalid_parameter("center", problem))
}

fn check_outlyingness(screen: &Outlyingness, n: usize, d: usize) -> Result<()> {
    if n < d + 3 {
        return Err(Error::invalid_argument(format!(
            "{n} samples are too few for the outlyingness screen with n_components = {d}, which requires {}; use the method \
             angular or fewer components",
            d + 3
        )));
    }
    let problem = match &screen.pairs {
        None if screen.n_directions == 0 => {
            return Err(Error::invalid_parameter("n_directions", "n_directions = 0; use at least 1"));
        }
        None if screen.n_directions > MAX_DIRECTIONS => {
            let problem = format!("n_directions = {} exceeds {MAX_DIRECTIONS}; use at most that", screen.n_directions);
            return Err(Error::invalid_parameter("n_directions", problem));
        }
        None => return Ok(()),
        Some(pairs) if pairs.len() > MAX_DIRECTIONS => {
            format!("{} pairs of samples were given; use at most {MAX_DIRECTIONS}", pairs.len())
        }
        Some(pairs) if pairs.is_empty() => "the list of pairs is empty; give at least one pair of samples".to_owned(),
        Some(pairs) => match pairs.iter().flatten().find(|&&sample| sample >= n) {
            Some(sample) => format!("a given pair contains sample {sample} of {n} samples; samples count from 0"),
            None => return Ok(()),
        },
    };
    Err(Error::invalid_parameter("pairs", problem))
}

/// The configuration without steps that compare every pair of samples; rejects what has no such form.
fn without_pairs(config: &Config) -> Result<Config> {
    let rejected = |parameter: &'static str, what: &str, remedy: &str| {
        let why = "compares every pair of samples, which are on different workers";
        Err(Error::invalid_parameter(parameter, format!("{what} {why}; {remedy}, or fit on one machine")))
    };
    let mut config = config.clone();
    if config.solver == Solver::Gram {
        return rejected("solver", "the gram solver", "use the solver krylov, scatter or auto");
    }
    if let Screen::Cone(cone) = &mut config.screen {
        if cone.pivot_search == PivotSearch::Exact {
            return rejected("exact", "the exact pivot search", "use successive elimination");
        }
        if cone.max_angle == Angle::Auto {
            return rejected("max_angle", "the automatic max_angle", "give the angle in degrees");
        }
        cone.pivot_search = PivotSearch::Elimination;
    }
    Ok(config)
}
