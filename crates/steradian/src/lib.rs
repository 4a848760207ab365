//! Robust PCA at the price of PCA: angular embedding as passes over blocks.
//!
//! A [`Source`] hands out blocks of samples, each method is a short list of passes over them, and every pass adds
//! blocks into sums that can be merged. A [`Model`] is what is left when the last sum is finished.
//!
//! ```
//! use steradian::{AngularEmbedding, Memory};
//!
//! // Five samples on a line with slope 2, and one far off.
//! let data = [0.0, 0.0, 1.0, 2.0, 2.0, 4.0, -1.0, -2.0, -2.0, -4.0, 900.0, -900.0];
//! let model = AngularEmbedding::new(1).fit(&Memory::new(&data, 6, 2)?)?;
//! let direction = model.components.row(0);
//! assert!(direction[1] > 1.5 * direction[0]);
//! # Ok::<(), steradian::Error>(())
//! ```

pub mod center;
mod codec;
mod config;
mod data;
mod engine;
mod error;
mod fit;
pub mod folds;
mod kernel;
mod model;
mod numeric;
mod remote;
mod screen;
mod solver;

pub use config::Config;
pub use config::method::{Method, MethodName};
pub use config::options::{Cells, Center, ComponentCount, Loss, Scaling, Solver, Weighting};
pub use config::request::Request;
pub use config::screen::{Angle, Cone, Cosine, Outlyingness, PivotSearch, Screen, Ties};
pub use data::block::{Block, BlockData, BlockElement, Rows};
pub use data::element::{Element, ElementType};
pub use data::row_map::{RowMap, SignFlips};
#[cfg(feature = "ndarray")]
pub use data::slice::NdArraySource;
pub use data::slice::SliceSource;
pub use data::source::{Shape, Source, View};
pub use engine::fold::{Fold, PairFold};
pub use engine::forest::Forest;
pub use engine::grid::Grid;
pub use engine::journal::{Journal, Payload};
pub use engine::local::Local;
pub use engine::progress::{CancelToken, Iteration, Progress};
pub use engine::runner::Runner;
pub use error::{Error, Result, format_bytes};
pub use fit::assemble::{Found, assemble};
pub use fit::builder::AngularEmbedding;
pub use fit::cost::{PlanStep, program_bytes};
pub use fit::fit_identity::FitIdentity;
pub use fit::plan::Plan;
pub use fit::screening::{FittedScreen, screen};
pub use fit::{fit, fit_on, fit_remote};
pub use model::diagnosis::{Diagnosis, Flag};
pub use model::extras::Extra;
pub use model::{Certificate, CleanedCells, Model};
pub use numeric::linalg::{self, Matrix};
pub use numeric::{orthonormal, random};
pub use remote::cluster::Cluster;
pub use remote::job::Job;
pub use remote::partial_result::PartialResult;
pub use remote::source::{Dispatch, RemoteSource};
pub use screen::report::{ConeReport, Elimination};
pub use solver::dense::top_eigenpairs;

/// The Rust example of the README, compiled and run with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
