//! Methods that others published, written anew on the sources, kernels and threads of [`steradian`], so that comparisons
//! are fair.
//!
//! | name | method | file |
//! |---|---|---|
//! | `empca` | PCA by expectation maximisation (Roweis 1998) | `orthogonal_iteration` |
//! | `emae` | angular embedding without a matrix decomposition, the first future work of its paper | `orthogonal_iteration` |
//! | `ga`, `tga` | the Grassmann average and its trimmed form (Hauberg, Feragen and Black 2014) | `grassmann` |
//! | `pcp` | principal component pursuit (Candes et al. 2011) by inexact ALM (Lin, Chen and Ma 2010) | `pursuit` |
//!
//! ```
//! use steradian::{Local, Memory};
//!
//! let data = [0.0, 0.0, 1.0, 2.0, 2.0, 4.0, -1.0, -2.0, -2.0, -4.0];
//! let model = steradian_baselines::fit(
//!     &steradian_baselines::preset(steradian_baselines::EMPCA, 1),
//!     &Memory::new(&data, 5, 2)?,
//!     &Local::new(1)?,
//! )?;
//! assert!((model.components[(0, 1)] / model.components[(0, 0)] - 2.0).abs() < 1e-6);
//! # Ok::<(), steradian::Error>(())
//! ```

pub mod any;
mod columns;
mod grassmann;
mod method;
mod orthogonal_iteration;
mod plan;
mod pursuit;

use steradian::{Config, Error, Local, Model, Result, Source};

pub use method::{BASELINES, EMAE, EMPCA, GA, PCP, TGA, TRIM, fits_by_passes, is_baseline, preset};
pub use plan::plan;
pub use pursuit::{Pursuit, principal_component_pursuit};

/// Fits a baseline to all samples of a source.
pub fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    plan(config, source, steradian::Runner::threads(runner))?;
    match config.method {
        EMPCA | EMAE => orthogonal_iteration::fit(config, source, runner),
        GA | TGA => grassmann::fit(config, source, runner),
        PCP => pursuit::fit(config, source, runner),
        other => Err(Error::invalid_argument(format!(
            "the method {} is no baseline; fit it with steradian::fit",
            other.name()
        ))),
    }
}

/// The number of components, which baselines have to be told.
fn count(config: &Config) -> Result<usize> {
    match config.components {
        steradian::ComponentCount::Count(count) => Ok(count),
        _ => Err(Error::invalid_argument(format!(
            "the method {} takes a number of components, neither a share nor auto; ask for a number",
            config.method.name()
        ))),
    }
}
