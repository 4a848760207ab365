//! Leading eigenpairs of A'A for a matrix A of rows in memory.

use crate::error::Result;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner};
use crate::numeric::orthonormal::{orthonormalize, orthonormalize_in_order, widen};
use crate::numeric::random::{Stream, normal_matrix};

/// Smaller side of A up to which its eigenproblem is solved exactly: without and with a start near the solution.
const EXACT_SIDE: (usize, usize) = (256, 48);
/// Steps of block iteration from a start near the solution with more columns than are wanted, from another start, and from a random
/// one.
const STEPS: (usize, usize, usize) = (1, 2, 5);
/// Eigenvalues below this share of the largest are rounding.
const RANK: f64 = 1e-14;
/// Columns of a basis beyond those that are wanted: they make the block iteration converge.
const EXTRA: usize = 8;

/// Leading eigenvalues and eigenvectors (as columns) of A'A, and its trace.
#[derive(Debug, Clone)]
pub(crate) struct Leading {
    pub values: Vec<f64>,
    pub vectors: Matrix,
    /// The vectors and a few more: the start of the next problem.
    pub basis: Matrix,
    pub total: f64,
}

/// The leading `d` eigenpairs of A'A: exact if one side of A is small, else by block iteration from `start` or from random columns.
pub(crate) fn leading(a: &Matrix, d: usize, start: Option<&Matrix>) -> Result<Leading> {
    let total = a.data().iter().map(|x| x * x).sum();
    let (n, features) = (a.rows(), a.columns());
    let d = d.min(features).min(n.max(1));
    let wide_start = start.filter(|basis| basis.columns() > d);
    let exact_side = if wide_start.is_some() { EXACT_SIDE.1 } else { EXACT_SIDE.0 };
    if n.min(features) > exact_side {
        return by_iteration(a, d, wide_start.or(start), total);
    }
    let width = (d + EXTRA).min(features).min(n.max(1));
    let (values, basis) = if features <= n {
        let (values, vectors) = symmetric_eigen(&tall_inner(a, a))?;
        (values, vectors.first_columns(width))
    } else {
        let transposed = a.transposed();
        let (values, left) = symmetric_eigen(&tall_inner(&transposed, &transposed))?;
        let rank = values.iter().take(width).filter(|v| **v > RANK * values[0]).count();
        let mut basis = product(&transposed, &left.first_columns(rank));
        // In order: another rotation of these columns would not belong to the eigenvalues.
        orthonormalize_in_order(&mut basis);
        widen(&mut basis, d)?;
        (values, basis)
    };
    let vectors = basis.first_columns(d);
    Ok(Leading { values: values[..d].iter().map(|x| x.max(0.0)).collect(), vectors, basis, total })
}

fn by_iteration(a: &Matrix, d: usize, start: Option<&Matrix>, total: f64) -> Result<Leading> {
    let steps = match start {
        Some(start) if start.columns() > d => STEPS.0,
        Some(_) => STEPS.1,
        None => STEPS.2,
    };
    let mut basis = match start {
        Some(start) => start.clone(),
        None => normal_matrix(a.columns(), (d + EXTRA).min(a.rows()), 0, Stream::Krylov),
    };
    for _ in 0..steps {
        basis = tall_inner(a, &product(a, &basis));
        orthonormalize(&mut basis, 0.0)?;
        widen(&mut basis, d)?;
    }
    let image = product(a, &basis);
    let (values, rotation) = symmetric_eigen(&tall_inner(&image, &image))?;
    let basis = product(&basis, &rotation);
    let vectors = basis.first_columns(d.min(basis.columns()));
    Ok(Leading { values: values.iter().take(d).map(|x| x.max(0.0)).collect(), vectors, basis, total })
}

/// The Frobenius norm of the part of the columns of `a` outside of the span of the orthonormal columns of `b`.
pub(crate) fn turn(a: &Matrix, b: &Matrix) -> f64 {
    let inside = product(b, &tall_inner(b, a));
    a.data().iter().zip(inside.data()).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_and_the_iteration_agree() {
        let tall = {
            let mut data = normal_matrix(400, 300, 5, Stream::Krylov);
            for (i, x) in data.data_mut().iter_mut().enumerate() {
                *x *= [9.0, 6.0, 4.0][(i % 300).min(2)] * if i % 300 > 2 { 0.05 } else { 1.0 };
            }
            data
        };
        let iterated = leading(&tall, 3, None).unwrap();
        let (values, vectors) = symmetric_eigen(&tall_inner(&tall, &tall)).unwrap();
        let exact = vectors.first_columns(3);
        assert!(turn(&iterated.vectors, &exact) < 1e-6);
        let again = leading(&tall, 3, Some(&iterated.basis)).unwrap();
        assert!(turn(&again.vectors, &exact) < 1e-8);
        for (found, value) in iterated.values.iter().zip(&values) {
            assert!((found / value - 1.0).abs() < 1e-9);
        }
        let narrow = Matrix::from_vec(100, 300, tall.data()[..30_000].to_vec());
        let gram = leading(&narrow, 2, None).unwrap();
        let (_, vectors) = symmetric_eigen(&tall_inner(&narrow, &narrow)).unwrap();
        assert!(turn(&gram.vectors, &vectors.first_columns(2)) < 1e-9);
        for (k, value) in gram.values.iter().enumerate() {
            let image = product(&narrow, &Matrix::from_vec(300, 1, (0..300).map(|j| gram.vectors[(j, k)]).collect()));
            let along: f64 = image.data().iter().map(|x| x * x).sum();
            assert!((along / value - 1.0).abs() < 1e-9, "vector {k} belongs to its eigenvalue");
        }
        assert!(gram.basis.columns() > 2);
        assert_eq!(gram.basis.first_columns(2), gram.vectors);
        assert!((gram.total - narrow.data().iter().map(|x| x * x).sum::<f64>()).abs() < 1e-9);
    }
}
