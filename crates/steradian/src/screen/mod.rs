//! Screens: who may speak when the subspace is found.

mod alone;
pub(crate) mod cone;
pub(crate) mod outlyingness;

pub use alone::{Screened, screen};
