//! Orthonormalization of columns: by SVQB, and in column order by Cholesky QR.

use rayon::prelude::*;

use super::linalg::{
    Matrix, MatrixView, PRODUCT_ROWS, add_product, product, symmetric_eigen, tall_inner, tall_subtract,
};
use super::random::{Stream, normal_matrix};
use crate::error::Result;

/// `a = a b` for a square `b`, in place panel by panel, which needs no second matrix.
fn multiply_by_square(a: &mut Matrix, b: &Matrix) {
    let columns = a.columns();
    a.data_mut().par_chunks_mut((PRODUCT_ROWS * columns).max(1)).for_each(|panel| {
        let before = panel.to_vec();
        panel.fill(0.0);
        add_product(panel, MatrixView::new(&before, before.len() / columns, columns), b.view(), 1.0);
    });
}

/// Orthonormalizes the columns of a tall matrix and returns the coupling: `z_before = z_after * coupling`, up to
/// columns of norm below `floor`. Dependent columns are dropped, so z may become narrower.
///
/// With G = Z'Z = V L V', the columns of Z V L^(-1/2) are orthonormal (SVQB, Stathopoulos and Wu 2002). Each round uses
/// the well-conditioned part of G only; the next round takes the rest.
///
/// # Errors
/// For values that are not finite.
pub fn orthonormalize(z: &mut Matrix, floor: f64) -> Result<Matrix> {
    let before = std::mem::take(z);
    // The rest of a column after most of it was removed is rounding error, relative to the norm of the column.
    let floors: Vec<f64> = before.column_norms().into_iter().map(|norm| floor.max(1e-13 * norm)).collect();
    let mut basis = Matrix::zeros(before.rows(), 0);
    let mut coupling = Matrix::zeros(0, before.columns());
    for _ in 0..MAX_ROUNDS {
        let found = basis.columns();
        let mut part = if found == 0 {
            svqb_step(&before, &floors)?
        } else {
            let mut rest = before.clone();
            tall_subtract(&mut rest, &basis, &coupling);
            svqb_step(&rest, &floors)?
        };
        // A second SVQB step reduces the error to rounding. Normalizing small columns amplifies their part along the
        // basis, so later rounds take a third one.
        for _ in 0..if found == 0 { 1 } else { 2 } {
            if found > 0 {
                let inner = tall_inner(&basis, &part);
                tall_subtract(&mut part, &basis, &inner);
            }
            part = svqb_step(&part, &[])?;
        }
        basis = if found == 0 { part } else { basis.beside(&part) };
        if basis.columns() > found {
            coupling = tall_inner(&basis, &before);
        }
        if basis.columns() == found || basis.columns() == before.columns().min(before.rows()) {
            break;
        }
    }
    *z = basis;
    Ok(coupling)
}

/// Orthonormalizes nearly orthogonal columns in order: each is changed by the columns before it only (Cholesky QR).
pub fn orthonormalize_in_order(q: &mut Matrix) {
    for _ in 0..2 {
        let gram = tall_inner(q, q);
        let k = gram.rows();
        // `back` is the inverse of the Cholesky factor, computed column by column.
        let mut back = Matrix::zeros(k, k);
        for j in 0..k {
            let mut column = vec![0.0; k];
            column[j] = 1.0;
            for _ in 0..2 {
                for i in 0..j {
                    let basis: Vec<f64> = (0..k).map(|r| back[(r, i)]).collect();
                    let inner = bilinear(&basis, &gram, &column);
                    column.iter_mut().zip(&basis).for_each(|(c, b)| *c -= inner * b);
                }
            }
            let norm = bilinear(&column, &gram, &column).max(0.0).sqrt();
            let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            column.iter().enumerate().for_each(|(r, c)| back[(r, j)] = c * scale);
        }
        multiply_by_square(q, &back);
    }
}

/// Adds random columns that are orthonormal and orthogonal to those of an orthonormal matrix, which stay as they are, until there are
/// `columns` of them, or as many as rows.
///
/// # Errors
/// For values that are not finite.
pub fn widen(q: &mut Matrix, columns: usize) -> Result<()> {
    let missing = columns.min(q.rows()).saturating_sub(q.columns());
    if missing > 0 {
        let mut added = normal_matrix(q.rows(), missing, 0, Stream::Krylov);
        for _ in 0..2 {
            let inner = tall_inner(q, &added);
            tall_subtract(&mut added, q, &inner);
            orthonormalize(&mut added, 0.0)?;
        }
        *q = q.beside(&added);
    }
    Ok(())
}

/// x' G y.
fn bilinear(x: &[f64], gram: &Matrix, y: &[f64]) -> f64 {
    x.iter().enumerate().map(|(i, x)| x * gram.row(i).iter().zip(y).map(|(g, y)| g * y).sum::<f64>()).sum()
}

/// Largest number of rounds of [`orthonormalize`]; each finds directions 1000 times smaller than the round before.
const MAX_ROUNDS: usize = 6;

/// Z V L^(-1/2) for the eigenvalues of Z'Z above 1e-6 of the largest, where the columns of Z are normalized: then Z'Z
/// is well conditioned even if columns differ by many powers of ten. Columns of norm below their floor are left out.
fn svqb_step(z: &Matrix, floors: &[f64]) -> Result<Matrix> {
    let mut gram = tall_inner(z, z);
    let inverse: Vec<f64> = (0..z.columns())
        .map(|j| (gram[(j, j)].sqrt(), floors.get(j).copied().unwrap_or(0.0)))
        .map(|(norm, floor)| if norm > floor { 1.0 / norm } else { 0.0 })
        .collect();
    for i in 0..z.columns() {
        gram.row_mut(i).iter_mut().zip(&inverse).for_each(|(g, w)| *g *= inverse[i] * w);
    }
    let (values, vectors) = symmetric_eigen(&gram)?;
    let largest = values.first().copied().unwrap_or(0.0);
    let rank = values.iter().take_while(|&&l| l > 1e-6 * largest).count();
    let mut mix = vectors.first_columns(rank);
    for (i, w) in inverse.iter().enumerate() {
        mix.row_mut(i).iter_mut().zip(&values).for_each(|(x, l)| *x *= w / l.sqrt());
    }
    Ok(product(z, &mix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_columns_are_dropped_and_the_coupling_restores_the_rest() {
        let entry = |i: usize| ((i * 7919 % 1009) as f64 / 1009.0 - 0.5) * (1 + i % 3) as f64;
        let mut z = Matrix::from_vec(50, 4, (0..200).map(entry).collect());
        for i in 0..50 {
            let x = z[(i, 0)];
            z[(i, 3)] = 1e-9 * x;
        }
        let before = z.clone();
        let coupling = orthonormalize(&mut z, 1e-300).unwrap();
        assert_eq!(z.columns(), 3);
        let gram = tall_inner(&z, &z);
        let back = product(&z, &coupling);
        for i in 0..3 {
            for j in 0..3 {
                assert!((gram[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        for (a, b) in back.data().iter().zip(before.data()) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn a_wider_basis_starts_with_the_given_columns() {
        for (rows, width) in [(50, 7), (4, 4)] {
            let mut q = normal_matrix(rows, 3, 1, Stream::Krylov);
            orthonormalize_in_order(&mut q);
            let before = q.clone();
            widen(&mut q, 7).unwrap();
            assert_eq!((q.columns(), q.first_columns(3)), (width, before));
            let gram = tall_inner(&q, &q);
            let identity = |place: usize| f64::from(u8::from(place / width == place % width));
            assert!(gram.data().iter().enumerate().all(|(place, g)| (g - identity(place)).abs() < 1e-14));
        }
    }
}
