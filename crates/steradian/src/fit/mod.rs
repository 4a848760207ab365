//! The entry points of a fit: plan, scaling of features, number of components, then one embedding or several.

pub(crate) mod assemble;
pub(crate) mod backend;
pub(crate) mod builder;
pub(crate) mod cells;
pub(crate) mod component_count;
pub(crate) mod cost;
pub(crate) mod feature_scales;
pub(crate) mod fit_identity;
pub(crate) mod gram_backend;
pub(crate) mod pass_backend;
pub(crate) mod plan;
pub(crate) mod rounds;
pub(crate) mod screening;
pub(crate) mod signs;
pub(crate) mod sine_loss;
pub(crate) mod stages;
pub(crate) mod total_variance;

use std::borrow::Cow;

use crate::center::mean::Finite;
use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::{Cells, Center, ComponentCount, Scaling, Solver};
use crate::config::request::Request;
use crate::data::row_map::RowMap;
use crate::data::source::Source;
use crate::data::view::MappedSource;
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::remote::cluster::Cluster;
use crate::remote::source::RemoteSource;
use plan::Plan;
use stages::embed;
use total_variance::is_classical;

/// Fits a model to all samples of a source, on threads of this process.
///
/// It is [`fit_on`] compiled once, here: programs that use it do not compile the engine anew.
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    fit_on(config, source, runner)
}

/// Fits a model to all samples of a source, wherever passes run.
pub fn fit_on<R: Runner>(config: &Config, source: &dyn Source, runner: &R) -> Result<Model> {
    if let Method::Other(_) = config.method {
        return Err(Error::invalid_argument(format!(
            "the method {} is not one of this crate's; fit it with the crate that defines it",
            config.method.name()
        )));
    }
    let request = Request::new(config, source.shape(), runner.supports_pairs())?;
    let held = |threads| source.buffer_bytes(threads);
    let solver = Plan::of(&request, source.shape(), runner.threads(), held)?.solver;
    let before = runner.passes();
    let data = Finite::check(source, runner)?;
    let mut model = match config.scaling {
        Scaling::None => fit_counted(request.config(), solver, &data, runner)?,
        Scaling::Mad => fit_scaled(request.config(), solver, source, runner)?,
    };
    model.config = config.clone();
    model.passes = runner.passes() - before;
    Ok(model)
}

/// Fits a model to all samples of a cluster. Steps that compare every pair of samples are avoided, and rejected where the
/// configuration names them.
///
/// It is [`fit_on`] compiled once, here, as [`fit`] is.
pub fn fit_remote(config: &Config, source: &RemoteSource<'_>, runner: &Cluster<'_>) -> Result<Model> {
    fit_on(config, source, runner)
}

/// With every feature divided by its robust scale.
fn fit_scaled<R: Runner>(config: &Config, solver: Solver, source: &dyn Source, runner: &R) -> Result<Model> {
    let (scale, warning) = feature_scales::scales(source, runner)?;
    let scaled = MappedSource::new(source, RowMap::Scale(Cow::Borrowed(&scale)));
    let mut inner = config.clone();
    if let Center::Given(point) = &mut inner.center {
        point.iter_mut().zip(&scale).for_each(|(x, s)| *x /= s);
    }
    // Division may overflow, so that scaled data are checked again.
    let mut model = fit_counted(&inner, solver, &Finite::check(&scaled, runner)?, runner)?;
    model.center.iter_mut().zip(&scale).for_each(|(x, s)| *x *= s);
    model.shape = source.shape().clone();
    model.scale = Some(scale);
    model.warnings.extend(warning);
    Ok(model)
}

/// With the number of components found where it is not given.
fn fit_counted<R: Runner>(config: &Config, solver: Solver, data: &Finite<'_>, runner: &R) -> Result<Model> {
    let most = config.components.at_most(data.source.shape());
    let chosen = match config.components {
        ComponentCount::Count(_) => None,
        ComponentCount::Auto => Some(component_count::parallel_analysis(config, solver, data.source, runner)?),
        ComponentCount::VarianceFraction(fraction) => return fit_fraction(config, fraction, solver, data, runner),
    };
    let d = chosen.as_ref().map_or(most, |chosen| chosen.components);
    let mut model = fit_cells(config, d, solver, data, runner)?;
    model.n_components_reason = chosen.map(|chosen| chosen.reason);
    Ok(model)
}

/// With as few components as explain a fraction of the total variance. A fit of many components proposes their number; the
/// fit of that number has variances and a total of its own, so it confirms the number or raises it.
fn fit_fraction<R: Runner>(
    config: &Config,
    fraction: f64,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Model> {
    let mut most = config.components.at_most(data.source.shape());
    let widest = loop {
        match fit_cells(config, most, solver, data, runner) {
            Err(Error::RankTooSmall { rank, .. }) if (1..most).contains(&rank) => most = rank,
            model => break model?,
        }
    };
    let mut d =
        component_count::by_variance_fraction(fraction, &widest.explained_variance, total(&widest)).unwrap_or(most);
    let mut model = loop {
        if d >= most {
            break widest;
        }
        let model = fit_cells(config, d, solver, data, runner)?;
        if component_count::by_variance_fraction(fraction, &model.explained_variance, total(&model)).is_some() {
            break model;
        }
        d = component_count::by_variance_fraction(fraction, &widest.explained_variance, total(&model))
            .unwrap_or(most)
            .max(d + 1);
    };
    let kind = if is_classical(config) { "total" } else { "robust" };
    model.n_components_reason = Some(component_count::reason(fraction, &model.explained_variance, total(&model), kind));
    Ok(model)
}

fn total(model: &Model) -> f64 {
    model.total_variance.unwrap_or(f64::NAN)
}

fn fit_cells<R: Runner>(config: &Config, d: usize, solver: Solver, data: &Finite<'_>, runner: &R) -> Result<Model> {
    match config.cells {
        Cells::Keep => embed(config, d, solver, data, runner),
        Cells::Clean => cells::clean(config, d, solver, data, runner),
    }
}
