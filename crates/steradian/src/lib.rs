//! Robust PCA: principal components that outliers do not distort, with a bound on the numerical error.
//!
//! A sample is centered at a robust location and weighted by its direction rather than by its norm: the components are
//! eigenvectors of a spatial sign covariance matrix. The default method also screens outlying samples (Stahel-Donoho) and
//! reweights the rest, with a breakdown point close to 50 %. Data are read in blocks from memory, from files larger than memory or
//! from the workers of a cluster; results are bitwise identical for any number of threads.
//!
//! | task | item |
//! |---|---|
//! | fit the default method | [`AngularEmbedding`], a builder |
//! | fit any method with any option | [`Config`], [`Method`], [`fit()`] |
//! | read an array | [`SliceSource`], `NdArraySource`, `FaerSource` (features `ndarray`, `faer`), or your own [`Source`] |
//! | scores, reconstructions, outliers | [`Model::transform`], [`Model::reconstruct`], [`Model::diagnose`] |
//! | save and load | [`Model::to_bytes`], [`Model::from_bytes`] |
//! | cost before a fit | [`Plan`] |
//! | progress, cancellation, checkpoints | [`Local`], [`engine`] |
//! | a new reduction over the data | [`engine::Fold`], [`folds`] |
//! | rows in other processes | [`remote`] |
//!
//! ```
//! use steradian::model::{CutoffKind, Flag};
//! use steradian::{AngularEmbedding, Local, Model, SliceSource};
//!
//! # fn main() -> steradian::Result<()> {
//! // Nine samples near the line with slope 2, and one outlier.
//! let mut data: Vec<f64> = (-4..=4).flat_map(|i| [f64::from(i), 2.0 * f64::from(i) + 0.1 * f64::from(i % 2)]).collect();
//! data.extend([900.0, -900.0]);
//! let table = SliceSource::new(&data, 10, 2)?;
//!
//! let model = AngularEmbedding::new(1).fit(&table)?;
//! let direction = model.subspace.components.row(0);
//! assert!((direction[1] / direction[0] - 2.0).abs() < 0.1);
//!
//! let runner = Local::new(1)?;
//! let diagnoses = model.diagnose(&table, &runner, CutoffKind::New)?;
//! assert_eq!(diagnoses[9].flag, Flag::BadLeverage);
//!
//! let bytes = model.to_bytes()?;
//! let loaded = Model::from_bytes(&bytes)?;
//! assert_eq!(loaded.transform(&table, &runner)?, model.transform(&table, &runner)?);
//! # Ok(())
//! # }
//! ```

mod cellwise;
pub mod center;
mod codec;
pub mod config;
pub mod data;
pub mod engine;
pub mod error;
pub mod fit;
pub mod folds;
mod kernel;
pub mod memory;
pub mod model;
mod numeric;
pub mod remote;
mod screen;
mod search;
pub mod solver;

pub use config::Config;
pub use config::method::Method;
pub use config::options::{Center, ComponentCount, Solver};
#[cfg(feature = "faer")]
pub use data::faer_source::FaerSource;
#[cfg(feature = "ndarray")]
pub use data::ndarray_source::NdArraySource;
pub use data::slice::SliceSource;
pub use data::source::Source;
pub use engine::local::Local;
pub use error::{Error, Result};
pub use fit::builder::AngularEmbedding;
pub use fit::fit;
pub use fit::plan::Plan;
pub use model::Model;
pub use numeric::linalg::Matrix;
pub use numeric::{linalg, orthonormal, random};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
