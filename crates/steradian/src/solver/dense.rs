//! The top eigenvectors of a symmetric matrix in memory: all of them when it is small, by Krylov when it is not.

use super::certificate::certify;
use super::krylov;
use super::operator::Dense;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, symmetric_eigen};

/// Up to this dimension the full eigenproblem is solved: it is exact and takes a few milliseconds.
const FULL_EIGEN_MAX_DIM: usize = 256;
/// Up to this dimension it takes a tenth of a second, which an iteration to many digits does not beat.
const FULL_EIGENPAIRS_MAX_DIM: usize = 1024;
/// Above this share of wanted vectors an iteration saves nothing.
const WANTED_SHARE: usize = 4;
/// How much finer the iteration within memory is than what is asked: a step is cheap, and other errors come on top.
const INNER_TOLERANCE_FACTOR: f64 = 0.05;

/// Whether all eigenvectors of a matrix of this dimension are found when `d` are wanted.
pub(crate) fn solves_fully(dimension: usize, d: usize) -> bool {
    dimension <= FULL_EIGEN_MAX_DIM.max(WANTED_SHARE * d)
}

/// The top d + 1 eigenvectors, as columns (fewer when the matrix is smaller).
pub(crate) fn top_vectors(
    matrix: &Matrix,
    d: usize,
    tolerance: f64,
    seed: u64,
    runner: &impl Runner,
) -> Result<Matrix> {
    if !solves_fully(matrix.rows(), d) {
        let operator = Dense { matrix, runner };
        return krylov::top_vectors(&operator, None, (d, d + 1), INNER_TOLERANCE_FACTOR * tolerance, seed, runner);
    }
    runner.check_cancelled()?;
    let (_, vectors) = runner.compute(|| symmetric_eigen(matrix))?;
    Ok(vectors.first_columns((d + 1).min(matrix.rows())))
}

/// The top `count` eigenvalues, largest first, and their eigenvectors as columns, to within `tolerance` in sine. Finds
/// all where that takes no longer.
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
    let vectors =
        krylov::top_vectors(&operator, None, (count, count), INNER_TOLERANCE_FACTOR * tolerance, seed, runner)?;
    let found = certify(&operator, vectors, count, runner)?;
    Ok((found.values, found.vectors))
}
