//! The plan and the fit of any method, of this crate or of `steradian`.

use steradian::{Config, Error, Local, Method, Model, Plan, Result, Source};

use crate::method::{BASELINES, is_baseline};

/// The plan for these data on this many threads; rejects what cannot be done, with numbers.
pub fn plan(config: &Config, source: &dyn Source, threads: usize) -> Result<Plan> {
    require_known(config.method)?;
    match is_baseline(config.method) {
        true => crate::plan(config, source, threads),
        false => Plan::for_source(config, source, threads),
    }
}

/// Fits a model to all samples of a source.
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    require_known(config.method)?;
    match is_baseline(config.method) {
        true => crate::fit(config, source, runner),
        false => steradian::fit(config, source, runner),
    }
}

fn require_known(method: Method) -> Result<()> {
    if is_baseline(method) || Method::ALL.contains(&method) {
        return Ok(());
    }
    let names: Vec<&str> = Method::ALL.iter().chain(&BASELINES).map(Method::name).collect();
    Err(Error::invalid_argument(format!("the method {} is not known; use one of {}", method.name(), names.join(", "))))
}
