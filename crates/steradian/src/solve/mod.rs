//! How a fit is done: center, screen, directions, decomposition, certificate, scales.

mod assemble;
mod cells;
mod certify;
mod cosines;
mod decompose;
mod eigen;
mod embed;
mod fit;
mod ground;
mod krylov;
mod operator;
pub(crate) mod refine;
mod rounds;
mod within;

pub use assemble::{Found, assemble};
pub(crate) use cells::ROUNDS as CELL_ROUNDS;
pub(crate) use decompose::Decomposer;
pub(crate) use eigen::solves_fully;
pub use eigen::top_eigenpairs;
pub(crate) use embed::SCALE_SCORES;
pub use fit::{fit, fit_on};
pub(crate) use krylov::{Width, max_columns};
pub(crate) use rounds::ROUNDS as EMBED_ROUNDS;
