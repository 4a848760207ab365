//! Solvers: the top eigenvectors of the weighted operator, and their certificate.

pub(crate) mod certificate;
pub(crate) mod decompose;
pub(crate) mod dense;
pub(crate) mod gram;
pub(crate) mod krylov;
pub(crate) mod operator;

pub use dense::top_eigenpairs;
