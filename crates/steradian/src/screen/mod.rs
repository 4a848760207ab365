//! Screens: who may speak when the subspace is found.

pub(crate) mod alone;
pub(crate) mod cone;
pub(crate) mod elimination;
mod evidence;
pub(crate) mod outlyingness;
mod shell;
