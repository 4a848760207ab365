//! How a fit is done: center, screen, directions, decomposition, certificate, scales.

pub(crate) mod certificate;
pub(crate) mod decompose;
pub(crate) mod dense;
pub(crate) mod gram;
pub(crate) mod krylov;
pub(crate) mod operator;
