//! Products of one row with a few components, at the vector length of the CPU; a sum depends on the row alone.

use pulp::Arch;

use crate::numeric::linalg::Matrix;

/// Partial sums of a product, which the compiler keeps in vector registers.
const LANES: usize = 8;

#[inline(always)]
fn dot_lanes(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_lanes.remainder().iter().zip(b_lanes.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_lanes.zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] = x[lane].mul_add(y[lane], sums[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// The products of a row with the rows of a matrix.
pub(crate) fn row_products(row: &[f64], components: &Matrix, out: &mut [f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (k, out) in out.iter_mut().enumerate() {
                *out = dot_lanes(row, components.row(k));
            }
        },
    );
}

/// The square of the 2-norm.
pub(crate) fn square_norm(row: &[f64]) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || dot_lanes(row, row),
    )
}

/// `out = row - scores * components`.
pub(crate) fn residuals(row: &[f64], scores: &[f64], components: &Matrix, out: &mut [f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            out.copy_from_slice(row);
            for (k, score) in scores.iter().enumerate() {
                out.iter_mut().zip(components.row(k)).for_each(|(out, q)| *out = (-score).mul_add(*q, *out));
            }
        },
    );
}

/// `values = |values| / scales`, and the largest of them, which is not NaN.
pub(crate) fn standardize(values: &mut [f64], inverse_scales: &[f64]) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut largest = [0.0f64; LANES];
            let (values_lanes, rest) = values.as_chunks_mut::<LANES>();
            let (scales_lanes, scales_rest) = inverse_scales.as_chunks::<LANES>();
            for (x, s) in values_lanes.iter_mut().zip(scales_lanes) {
                for lane in 0..LANES {
                    x[lane] = x[lane].abs() * s[lane];
                    largest[lane] = if x[lane] > largest[lane] { x[lane] } else { largest[lane] };
                }
            }
            let mut most = largest.iter().fold(0.0f64, |m, x| m.max(*x));
            for (x, s) in rest.iter_mut().zip(scales_rest) {
                *x = x.abs() * s;
                most = most.max(*x);
            }
            most
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_residuals_are_those_of_plain_loops() {
        for length in [1, 7, 8, 9, 16, 33] {
            let row: Vec<f64> = (0..length).map(|j| ((j * 37 % 11) as f64) - 5.0).collect();
            let components = Matrix::from_vec(2, length, (0..2 * length).map(|j| ((j * 13 % 7) as f64) - 3.0).collect());
            let mut scores = [0.0; 2];
            row_products(&row, &components, &mut scores);
            for (k, score) in scores.iter().enumerate() {
                let plain: f64 = row.iter().zip(components.row(k)).map(|(x, q)| x * q).sum();
                assert_eq!(*score, plain, "sums of integers are exact");
            }
            let mut out = vec![0.0; length];
            residuals(&row, &[1.0, -2.0], &components, &mut out);
            let scales = vec![0.5; length];
            let plain: Vec<f64> =
                (0..length).map(|j| row[j] - components[(0, j)] + 2.0 * components[(1, j)]).collect();
            assert_eq!(out, plain);
            let largest = standardize(&mut out, &scales);
            assert_eq!(largest, plain.iter().fold(0.0, |m: f64, x| m.max(x.abs() / 2.0)));
            assert!(out.iter().zip(&plain).all(|(a, b)| *a == b.abs() / 2.0));
        }
    }
}
