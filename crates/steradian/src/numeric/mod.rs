//! Numerics without data: matrices, random numbers, statistics of one variable.

pub mod linalg;
pub(crate) mod magnitude;
pub mod orthonormal;
pub mod random;
pub(crate) mod skewness;
pub(crate) mod statistics;
