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

mod block;
pub mod center;
mod checkpoint;
mod cluster;
mod config;
mod derived;
mod diagnose;
mod element;
mod embedding;
mod error;
mod features;
mod job;
mod kernel;
pub mod linalg;
mod met;
mod model;
mod pass;
mod persist;
mod plan;
pub mod random;
mod rank;
mod recipe;
mod robust_scores;
mod run;
mod screen;
mod signs;
mod solve;
mod source;
mod sum;
pub mod sums;
mod total;
mod underway;
mod univariate;
pub mod wire;

pub use block::{Block, BlockData, BlockElement, Rows};
pub use checkpoint::{Content, Journal, Origin};
pub use cluster::{Cluster, Dispatch, Remote};
pub use config::{
    Angle, Cells, Center, Components, Cone, Config, Cosine, Counting, Loss, Method, Outlyingness, Scaling, Screen,
    Solver, Ties, Weighting,
};
pub use diagnose::{Diagnosis, Flag};
pub use element::{Element, ElementType};
pub use embedding::AngularEmbedding;
pub use error::{Error, Result};
pub use job::{Job, Work};
pub use linalg::Matrix;
pub use model::{Certificate, CleanedCells, ClipStatistics, ConeReport, Elimination, Model};
pub use pass::{Fold, Forest, Grid, PairFold};
pub use plan::{Plan, Step, program_bytes, size};
pub use recipe::Recipe;
pub use run::{CancelToken, Iteration, Local, Progress, Runner};
pub use screen::alone::{FittedScreen, screen};
pub use solve::{Found, assemble, fit, fit_on, top_eigenpairs};
#[cfg(feature = "ndarray")]
pub use source::NdArray;
pub use source::{Memory, Shape, Source};
pub use sum::Sum;
