//! Leading eigenpairs of A'A for a matrix A of rows in memory.

use crate::error::Result;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner};
use crate::numeric::orthonormal::orthonormalize;
use crate::numeric::random::{Stream, normal_matrix};

/// Smaller side of A up to which its eigenproblem is solved exactly.
const EXACT_SIDE: usize = 256;
/// Steps of block iteration from a start near the solution, and from a random one.
const STEPS: (usize, usize) = (2, 5);
/// Eigenvalues below this share of the largest are rounding.
const RANK: f64 = 1e-14;
/// Columns of a random start beyond those that are wanted.
const EXTRA: usize = 8;

/// Leading eigenvalues and eigenvectors (as columns) of A'A, and its trace.
#[derive(Debug, Clone)]
pub(crate) struct Leading {
    pub values: Vec<f64>,
    pub vectors: Matrix,
    pub total: f64,
}

/// The leading `d` eigenpairs of A'A: exact if one side of A is small, else by block iteration from `start` or from random columns.
pub(crate) fn leading(a: &Matrix, d: usize, start: Option<&Matrix>) -> Result<Leading> {
    let total = a.data().iter().map(|x| x * x).sum();
    let (n, features) = (a.rows(), a.columns());
    let d = d.min(features).min(n.max(1));
    if n.min(features) > EXACT_SIDE {
        return by_iteration(a, d, start, total);
    }
    let (values, vectors) = if features <= n {
        let (values, vectors) = symmetric_eigen(&tall_inner(a, a))?;
        (values, vectors.first_columns(d))
    } else {
        let transposed = a.transposed();
        let (values, left) = symmetric_eigen(&tall_inner(&transposed, &transposed))?;
        let rank = values.iter().take(d).filter(|v| **v > RANK * values[0]).count();
        (values, completed(product(&transposed, &left.first_columns(rank)), d)?)
    };
    Ok(Leading { values: values[..d].iter().map(|x| x.max(0.0)).collect(), vectors, total })
}

fn by_iteration(a: &Matrix, d: usize, start: Option<&Matrix>, total: f64) -> Result<Leading> {
    let steps = if start.is_some() { STEPS.0 } else { STEPS.1 };
    let mut basis = match start {
        Some(start) => start.clone(),
        None => normal_matrix(a.columns(), (d + EXTRA).min(a.rows()), 0, Stream::Krylov),
    };
    for _ in 0..steps {
        basis = completed(tall_inner(a, &product(a, &basis)), d)?;
    }
    let image = product(a, &basis);
    let (values, rotation) = symmetric_eigen(&tall_inner(&image, &image))?;
    let vectors = product(&basis, &rotation.first_columns(d.min(basis.columns())));
    Ok(Leading { values: values.iter().take(d).map(|x| x.max(0.0)).collect(), vectors, total })
}

/// The span of some columns as orthonormal columns, with random ones where there are fewer than d.
fn completed(mut columns: Matrix, d: usize) -> Result<Matrix> {
    orthonormalize(&mut columns, 0.0)?;
    if columns.columns() < d {
        let random = normal_matrix(columns.rows(), d - columns.columns(), 0, Stream::Krylov);
        columns = columns.beside(&random);
        orthonormalize(&mut columns, 0.0)?;
    }
    Ok(columns)
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
        let again = leading(&tall, 3, Some(&exact)).unwrap();
        assert!(turn(&again.vectors, &exact) < 1e-8);
        for (found, value) in iterated.values.iter().zip(&values) {
            assert!((found / value - 1.0).abs() < 1e-9);
        }
        let narrow = Matrix::from_vec(100, 300, tall.data()[..30_000].to_vec());
        let gram = leading(&narrow, 2, None).unwrap();
        let (_, vectors) = symmetric_eigen(&tall_inner(&narrow, &narrow)).unwrap();
        assert!(turn(&gram.vectors, &vectors.first_columns(2)) < 1e-9);
        assert!((gram.total - narrow.data().iter().map(|x| x * x).sum::<f64>()).abs() < 1e-9);
    }
}
