//! Baselines: published methods, implemented on the sources, kernels and threads of [`steradian`] for fair comparisons.
//!
//! | name | method | file |
//! |---|---|---|
//! | `empca` | PCA by expectation maximization (Roweis 1998) | `orthogonal_iteration` |
//! | `emae` | angular embedding by the same iteration, without a matrix decomposition | `orthogonal_iteration` |
//! | `ga`, `tga` | Grassmann average and trimmed Grassmann average (Hauberg, Feragen and Black 2014) | `grassmann` |
//! | `pcp` | principal component pursuit (Candes et al. 2011) by inexact ALM (Lin, Chen and Ma 2010) | `pursuit` |
//!
//! ```
//! use steradian::{Local, SliceSource};
//!
//! let data = [0.0, 0.0, 1.0, 2.0, 2.0, 4.0, -1.0, -2.0, -2.0, -4.0];
//! let model = steradian_baselines::fit(
//!     &steradian_baselines::preset(steradian_baselines::EMPCA, 1),
//!     &SliceSource::new(&data, 5, 2)?,
//!     &Local::new(1)?,
//! )?;
//! let components = &model.subspace.components;
//! assert!((components[(0, 1)] / components[(0, 0)] - 2.0).abs() < 1e-6);
//! # Ok::<(), steradian::Error>(())
//! ```

pub mod any;
mod columns;
mod grassmann;
mod method;
mod orthogonal_iteration;
mod plan;
mod pursuit;

use steradian::center::Finite;
use steradian::engine::Runner;
use steradian::fit::FitUnits;
use steradian::memory;
use steradian::{Config, Error, Local, Model, Plan, Result, Source};

pub use method::{BASELINES, EMAE, EMPCA, GA, PCP, TGA, TRIM, fits_by_passes, is_baseline, preset};
pub use plan::plan;
pub use pursuit::{Pursuit, principal_component_pursuit, run_pursuit};

/// Fits a baseline to all samples of a source: plans, then runs the plan.
///
/// # Errors
/// For a configuration that does not suit the data or its memory limit, and those of the fit.
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    run(&plan(config, source, runner.threads())?, source, runner)
}

/// Runs the plan of a baseline.
///
/// # Errors
/// Those of the fit.
pub fn run(plan: &Plan, source: &dyn Source, runner: &Local) -> Result<Model> {
    let (config, runner) = (plan.request.config(), runner.narrowed(plan.threads)?);
    let fit = || {
        in_units(config, source, &runner, |config, data| match config.method() {
            EMPCA | EMAE => orthogonal_iteration::fit(config, data, &runner),
            GA | TGA => grassmann::fit(config, data, &runner),
            PCP => pursuit::fit(config, data, &runner),
            other => Err(Error::invalid_argument(format!(
                "method {} is not a baseline; fit it with the crate steradian",
                other.name()
            ))),
        })
    };
    memory::guard(|| runner.compute(fit)).map(|(model, _)| model)
}

/// Runs a fit in suitable units and converts its model back. Returns the units too, for results beside the model.
fn in_units<T: AsMut<Model>>(
    config: &Config,
    source: &dyn Source,
    runner: &Local,
    fit: impl FnOnce(&Config, &Finite<'_>) -> Result<T>,
) -> Result<(T, FitUnits)> {
    let passes_before = runner.passes();
    let (mut result, units) = steradian::fit::in_units(config, source, runner, fit)?;
    let model = result.as_mut();
    units.restore(model)?;
    model.config = config.clone();
    model.report.passes = runner.passes() - passes_before;
    Ok((result, units))
}

/// The number of components, which must be an integer for baselines.
fn count(config: &Config) -> Result<usize> {
    match config.n_components() {
        steradian::ComponentCount::Count(count) => Ok(count),
        _ => {
            let method = config.method();
            let problem =
                format!("method {} requires an integer number of components; use an integer >= 1", method.name());
            Err(Error::invalid_parameter("n_components", problem))
        }
    }
}
