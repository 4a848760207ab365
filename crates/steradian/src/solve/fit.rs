//! The whole of a fit: scales of features, the number of components, and one embedding or several.

use std::borrow::Cow;

use super::cells;
use super::embed::embed;
use crate::center::mean;
use crate::config::{Cells, Center, Components, Config, Scaling, Solver};
use crate::derived::Changed;
use crate::error::{Error, Result};
use crate::features;
use crate::model::Model;
use crate::plan::Plan;
use crate::rank;
use crate::recipe::Change;
use crate::run::{Local, Runner};
use crate::source::Source;
use crate::total::is_classical;

/// Fits a model to all samples of a source, on threads of this process.
///
/// It is [`fit_on`] compiled once, here: programs that use it do not compile the engine anew.
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    fit_on(config, source, runner)
}

/// Fits a model to all samples of a source, wherever passes run.
pub fn fit_on<R: Runner>(config: &Config, source: &dyn Source, runner: &R) -> Result<Model> {
    if config.method.is_baseline() {
        return Err(Error::asked(format!(
            "the method {} is a baseline; fit it with the crate steradian-baselines",
            config.method.name()
        )));
    }
    let solver = Plan::for_source(config, source, runner.threads())?.solver;
    let before = runner.passes();
    let changed = config.scaling != Scaling::None || config.cells == Cells::Clean;
    if changed && source.shape().element.is_float() {
        mean::mean(source, None, runner)?; // proves that all numbers are finite, before they are changed
    }
    let mut model = match config.scaling {
        Scaling::None => fit_counted(config, solver, source, runner)?,
        Scaling::Mad => fit_scaled(config, solver, source, runner)?,
    };
    model.config = config.clone();
    model.passes = runner.passes() - before;
    Ok(model)
}

/// With every feature divided by its robust scale.
fn fit_scaled<R: Runner>(config: &Config, solver: Solver, source: &dyn Source, runner: &R) -> Result<Model> {
    let (scale, warning) = features::scales(source, runner)?;
    let scaled = Changed::new(source, Change::Divided(Cow::Borrowed(&scale)));
    let mut inner = config.clone();
    if let Center::Given(point) = &mut inner.center {
        point.iter_mut().zip(&scale).for_each(|(x, s)| *x /= s);
    }
    let mut model = fit_counted(&inner, solver, &scaled, runner)?;
    model.center.iter_mut().zip(&scale).for_each(|(x, s)| *x *= s);
    model.shape = source.shape().clone();
    model.scale = Some(scale);
    model.warnings.extend(warning);
    Ok(model)
}

/// With the number of components found where it is not given.
fn fit_counted<R: Runner>(config: &Config, solver: Solver, source: &dyn Source, runner: &R) -> Result<Model> {
    let most = config.components.at_most(source.shape());
    let chosen = match config.components {
        Components::Count(_) => None,
        Components::Auto => Some(rank::standing_out(config, solver, source, runner)?),
        Components::Share(fraction) => return fit_fraction(config, fraction, solver, source, runner),
    };
    let d = chosen.as_ref().map_or(most, |chosen| chosen.components);
    let mut model = fit_cells(config, d, solver, source, runner)?;
    model.chosen = chosen.map(|chosen| chosen.reason);
    Ok(model)
}

/// With as few components as explain a fraction of the total variance. A fit of many components proposes their number; the
/// fit of that number has variances and a total of its own, so it confirms the number or raises it.
fn fit_fraction<R: Runner>(
    config: &Config,
    fraction: f64,
    solver: Solver,
    source: &dyn Source,
    runner: &R,
) -> Result<Model> {
    let mut most = config.components.at_most(source.shape());
    let widest = loop {
        match fit_cells(config, most, solver, source, runner) {
            Err(Error::RankExceeded { rank, .. }) if (1..most).contains(&rank) => most = rank,
            model => break model?,
        }
    };
    let mut d = rank::reaching(fraction, &widest.variances, total(&widest)).unwrap_or(most);
    let mut model = loop {
        if d >= most {
            break widest;
        }
        let model = fit_cells(config, d, solver, source, runner)?;
        if rank::reaching(fraction, &model.variances, total(&model)).is_some() {
            break model;
        }
        d = rank::reaching(fraction, &widest.variances, total(&model)).unwrap_or(most).max(d + 1);
    };
    let kind = if is_classical(config) { "total" } else { "robust" };
    model.chosen = Some(rank::reason(fraction, &model.variances, total(&model), kind));
    Ok(model)
}

fn total(model: &Model) -> f64 {
    model.total_variance.unwrap_or(f64::NAN)
}

fn fit_cells<R: Runner>(config: &Config, d: usize, solver: Solver, source: &dyn Source, runner: &R) -> Result<Model> {
    match config.cells {
        Cells::Keep => embed(config, d, solver, source, runner),
        Cells::Clean => cells::clean(config, d, solver, source, runner),
    }
}
