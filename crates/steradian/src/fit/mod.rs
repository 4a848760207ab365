//! The entry points of a fit: plan, scaling of features, number of components, then one embedding or several.

pub(crate) mod assemble;
pub(crate) mod builder;
pub(crate) mod component_count;
pub(crate) mod component_order;
pub(crate) mod cost;
pub(crate) mod feature_scales;
pub(crate) mod fit_identity;
pub(crate) mod pca_present;
pub(crate) mod peak_memory;
pub(crate) mod plan;
pub(crate) mod present;
pub(crate) mod robust;
pub(crate) mod robust_cost;
pub(crate) mod route;
pub(crate) mod screening;
pub(crate) mod signs;
pub(crate) mod stages;
pub(crate) mod total_variance;
pub(crate) mod units;

use std::borrow::Cow;

use crate::center::Finite;
use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::{Center, ComponentCount, Loss, Scaling, Solver};
use crate::data::row_map::RowMap;
use crate::data::source::Source;
use crate::data::view::MappedSource;
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::Model;
use crate::remote::cluster::Cluster;
use crate::remote::source::RemoteSource;
use assemble::Embedding;
pub use assemble::{FittedSubspace, assemble};
use component_order::embed;
pub use cost::PlanStep;
pub use fit_identity::{FileStamp, FitIdentity};
pub use peak_memory::program_bytes;
use plan::Plan;
pub use plan::threads_within;
pub use screening::{FittedScreen, screen};
use total_variance::is_classical;
pub use units::{FitUnits, in_units};

/// Fits a model to all samples of a source, on threads of this process.
///
/// It is [`fit_on`] compiled once, here: programs that use it do not compile the engine anew.
///
/// # Errors
/// For a configuration that does not suit the data or its memory limit, for cells that are not finite, for data whose rank is
/// below the number of components, and for errors of the source.
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    run(&Plan::on(config, source, runner)?, source, runner)
}

/// Runs a plan on threads of this process, as many as it was planned for. The source must have the shape that was planned
/// for.
///
/// # Errors
/// For cells that are not finite, for data whose rank is below the number of components, and for errors of the source.
pub fn run(plan: &Plan, source: &dyn Source, runner: &Local) -> Result<Model> {
    run_on(plan, source, &runner.narrowed(plan.threads)?)
}

/// Fits a model to all samples of a source on any runner. A runner other than [`Local`] keeps its number of threads, and
/// the memory limit holds for one of them.
///
/// # Errors
/// As for [`fit`].
pub fn fit_on<R: Runner>(config: &Config, source: &dyn Source, runner: &R) -> Result<Model> {
    run_on(&Plan::on(config, source, runner)?, source, runner)
}

/// Fits a model to all samples of a cluster. Steps that compare every pair of samples are avoided, and rejected where the
/// configuration requires them.
///
/// It is [`fit_on`] compiled once, here, as [`fit`] is.
///
/// # Errors
/// As for [`fit`], and for workers that fail.
pub fn fit_remote(config: &Config, source: &RemoteSource<'_>, runner: &Cluster<'_>) -> Result<Model> {
    fit_on(config, source, runner)
}

/// Runs a plan on the threads of the runner, so that nothing starts others.
fn run_on<R: Runner>(plan: &Plan, source: &dyn Source, runner: &R) -> Result<Model> {
    memory::guard(|| runner.compute(|| run_within(plan, source, runner)))
}

fn run_within<R: Runner>(plan: &Plan, source: &dyn Source, runner: &R) -> Result<Model> {
    let (config, solver) = (plan.request.config(), plan.solver);
    if let Method::Other(_) = config.method {
        return Err(Error::invalid_argument(format!(
            "the method {} belongs to another crate; fit it with the crate that defines it",
            config.method.name()
        )));
    }
    let before = runner.passes();
    let (mut embedding, units) = in_units(config, source, runner, |config, data| match config.scaling {
        Scaling::None => fit_checked(config, solver, data, runner),
        Scaling::Mad => fit_scaled(config, solver, data, runner),
    })?;
    units.restore_embedding(&mut embedding)?;
    Ok(embedding.into_model(plan.request.given(), source, runner.passes() - before))
}

/// The fit with every feature divided by its robust scale.
fn fit_scaled<R: Runner>(config: &Config, solver: Solver, data: &Finite<'_>, runner: &R) -> Result<Embedding> {
    let (scale, warning) = feature_scales::scales(data, runner)?;
    let scaled = MappedSource::new(data.source, RowMap::Scale(Cow::Borrowed(&scale)));
    let mut inner = Config { scaling: Scaling::None, ..config.clone() };
    if let Center::Given(point) = &mut inner.center {
        point.iter_mut().zip(&scale).for_each(|(x, s)| *x /= s);
    }
    // Division may overflow, so that scaled data are checked again; their units differ from those of the data.
    let (mut embedding, units) =
        in_units(&inner, &scaled, runner, |config, data| fit_checked(config, solver, data, runner))?;
    units.restore_embedding(&mut embedding)?;
    embedding.subspace.center.iter_mut().zip(&scale).for_each(|(x, s)| *x *= s);
    embedding.subspace.scale = Some(scale);
    if let Some(cellwise) = &mut embedding.diagnostics.cellwise {
        // As a file has it, which stores the center in units of the data.
        cellwise.rows.center = embedding.subspace.center_in_units_of_scale();
    }
    embedding.report.warnings.extend(warning);
    Ok(embedding)
}

/// The fit of checked data. Missing cells reach no pass that is not written for them.
fn fit_checked<R: Runner>(config: &Config, solver: Solver, data: &Finite<'_>, runner: &R) -> Result<Embedding> {
    match config.method {
        _ if data.missing.is_none() || config.loss == Loss::Student => fit_counted(config, solver, data, runner),
        Method::Angular => present::fit_present(config, solver, data, runner, fit_counted),
        Method::Pca if is_classical(config) => fit_counted(config, solver, data, runner),
        _ => {
            data.require_complete()?;
            fit_counted(config, solver, data, runner)
        }
    }
}

/// The fit with the number of components found where it is not given.
fn fit_counted<R: Runner>(config: &Config, solver: Solver, data: &Finite<'_>, runner: &R) -> Result<Embedding> {
    let most = config.n_components.at_most(data.source.shape());
    let choice = match config.n_components {
        ComponentCount::Count(_) => None,
        ComponentCount::Auto if config.loss == Loss::Student || !data.missing.is_none() => {
            Some(robust::count(config, data, runner)?)
        }
        ComponentCount::Auto => Some(component_count::parallel_analysis(config, solver, data, runner)?),
        ComponentCount::VarianceFraction(fraction) => return fit_fraction(config, fraction, solver, data, runner),
    };
    let d = choice.as_ref().map_or(most, |choice| choice.components);
    let mut embedding = fit_embedding(config, d, solver, data, runner)?;
    embedding.report.n_components_reason = choice.map(|choice| choice.reason);
    Ok(embedding)
}

/// The fit with the smallest number of components that explains a fraction of the total variance. A fit of many components
/// proposes their number; the fit of that number has variances and a total of its own, so it confirms the number or raises it.
fn fit_fraction<R: Runner>(
    config: &Config,
    fraction: f64,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let mut most = config.n_components.at_most(data.source.shape());
    let widest = loop {
        match fit_embedding(config, most, solver, data, runner) {
            Err(Error::RankTooSmall { rank, .. }) if (1..most).contains(&rank) => most = rank,
            embedding => break embedding?,
        }
    };
    let count = |variances: &[f64], total: f64| component_count::by_variance_fraction(fraction, variances, total);
    let proposed = &widest.diagnostics.explained_variance;
    let mut d = count(proposed, widest.total_variance()).unwrap_or(most);
    let mut embedding = loop {
        if d >= most {
            break widest;
        }
        let embedding = fit_embedding(config, d, solver, data, runner)?;
        let total = embedding.total_variance();
        if count(&embedding.diagnostics.explained_variance, total).is_some() {
            break embedding;
        }
        d = count(proposed, total).unwrap_or(most).max(d + 1);
    };
    let kind = if is_classical(config) { "total" } else { "robust" };
    let variances = &embedding.diagnostics.explained_variance;
    let reason = component_count::reason(fraction, variances, embedding.total_variance(), kind);
    embedding.report.n_components_reason = Some(reason);
    Ok(embedding)
}

fn fit_embedding<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    match config.loss {
        Loss::Student => robust::fit_robust(config, d, solver, data, runner),
        _ if !data.missing.is_none() => pca_present::fit_present(config, d, solver, data, runner),
        Loss::SquaredCosine | Loss::Sine => embed(config, d, solver, data, runner),
    }
}
