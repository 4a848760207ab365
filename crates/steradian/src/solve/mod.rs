//! How a fit is done: center, screen, directions, decomposition, certificate, scales.

mod certify;
mod cosines;
mod eigen;
mod embed;
mod krylov;
mod operator;
mod scales;

pub(crate) use eigen::solves_fully;
pub(crate) use embed::SCALE_SCORES;
pub use embed::fit;
pub(crate) use krylov::{Width, max_columns};
