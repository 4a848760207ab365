//! The plan and the fit of any method, of this crate or of `steradian`.

use steradian::engine::Runner;
use steradian::{Config, Error, Local, Method, Model, Plan, Result, Source};

use crate::method::{BASELINES, is_baseline};

/// The plan for a source on this many threads.
///
/// # Errors
/// For a configuration that does not suit the data or its memory limit, with numbers.
pub fn plan(config: &Config, source: &dyn Source, threads: usize) -> Result<Plan> {
    require_known(config.method())?;
    match is_baseline(config.method()) {
        true => crate::plan(config, source, threads),
        false => Plan::for_source(config, source, threads),
    }
}

/// Runs a plan.
///
/// # Errors
/// Those of the fit.
pub fn run(plan: &Plan, source: &dyn Source, runner: &Local) -> Result<Model> {
    match is_baseline(plan.request.config().method()) {
        true => crate::run(plan, source, runner),
        false => steradian::fit::run(plan, source, runner),
    }
}

/// Fits a model to all samples of a source: plans, then runs the plan.
///
/// # Errors
/// Those of [`plan`] and [`run`].
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    run(&plan(config, source, runner.threads())?, source, runner)
}

fn require_known(method: Method) -> Result<()> {
    if is_baseline(method) || Method::ALL.contains(&method) {
        return Ok(());
    }
    let names: Vec<&str> = Method::ALL.iter().chain(&BASELINES).map(Method::name).collect();
    let problem = format!("method = {} is not supported; use one of {}", method.name(), names.join(", "));
    Err(Error::invalid_parameter("method", problem))
}
