//! The top eigenvectors of a symmetric matrix in memory: by a full decomposition if it is small, else by Krylov.

use super::certificate::certify;
use super::krylov::{self, Purpose};
use super::operator::Dense;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, symmetric_eigen};

/// Largest dimension of a full eigendecomposition, which takes a few milliseconds.
const FULL_EIGEN_MAX_DIM: usize = 256;
/// Largest dimension of a full eigendecomposition in [`top_eigenpairs`]: it takes 0.1 s, and an iteration to many
/// digits is not faster.
const FULL_EIGENPAIRS_MAX_DIM: usize = 1024;
/// Smallest ratio of dimension to number of vectors at which an iteration is faster.
const MIN_DIM_PER_VECTOR: usize = 4;
/// Tolerance of the iteration in memory relative to the requested one: a step is cheap, and other errors are added.
const INNER_TOLERANCE_FACTOR: f64 = 0.05;

/// True if a matrix of this dimension is fully decomposed to find `d` eigenvectors.
pub(crate) fn solves_fully(dimension: usize, d: usize) -> bool {
    dimension <= FULL_EIGEN_MAX_DIM.max(MIN_DIM_PER_VECTOR * d)
}

/// The top d + 1 eigenvectors as columns; fewer if the matrix is smaller.
pub(crate) fn top_vectors(
    matrix: &Matrix,
    d: usize,
    tolerance: f64,
    seed: u64,
    runner: &impl Runner,
) -> Result<Matrix> {
    if !solves_fully(matrix.rows(), d) {
        let operator = Dense { matrix, runner };
        let target = (INNER_TOLERANCE_FACTOR * tolerance, Purpose::Certified);
        return krylov::top_vectors(&operator, None, (d, d + 1), target, seed, runner);
    }
    runner.check_cancelled()?;
    let (_, vectors) = runner.compute(|| symmetric_eigen(matrix))?;
    Ok(vectors.first_columns((d + 1).min(matrix.rows())))
}

/// The top `count` eigenvalues, largest first, and their eigenvectors as columns, with a sine to the exact subspace of
/// at most `tolerance`. Returns all eigenpairs if that takes no longer.
///
/// # Errors
/// For values that are not finite, and [`Error::Cancelled`](crate::Error::Cancelled).
pub fn top_eigenpairs(
    matrix: &Matrix,
    count: usize,
    tolerance: f64,
    seed: u64,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Matrix)> {
    if matrix.rows() <= FULL_EIGENPAIRS_MAX_DIM || solves_fully(matrix.rows(), count) {
        runner.check_cancelled()?;
        return runner.compute(|| symmetric_eigen(matrix));
    }
    let operator = Dense { matrix, runner };
    let target = (INNER_TOLERANCE_FACTOR * tolerance, Purpose::Certified);
    let vectors = krylov::top_vectors(&operator, None, (count, count), target, seed, runner)?;
    let found = certify(&operator, vectors, count, runner)?;
    Ok((found.values, found.vectors))
}
