//! The certificate: how far a computed subspace can be from the exact one.
//!
//! | symbol | here |
//! |---|---|
//! | Q, k = d + 1 orthonormal columns | `vectors` |
//! | theta_i, Ritz values | `values` |
//! | r_i = A q_i - theta_i q_i | `residuals[i]` = norm(r_i) |
//!
//! sin of the largest angle <= sqrt(sum_i (norm(r_i) / (theta_i - l))^2) with l = theta_{d+1} + norm(r_{d+1}), an
//! estimate from above of the largest eigenvalue outside. It holds unless the random start missed a direction.
//! Cost: one application of the operator, and one for each widening of the span.

use super::operator::Operator;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::SampleDistances;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner, tall_subtract};
use crate::numeric::orthonormal::orthonormalize;

/// How often a span is widened before it is given back as it is.
const MAX_WIDENINGS: usize = 2;
/// A unit direction of which less than this is new was rounding.
pub(crate) const NEW_DIRECTION_MIN: f64 = 0.5;

/// Vectors with what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct Certified {
    /// Eigenvalues of A, largest first.
    pub values: Vec<f64>,
    /// Orthonormal columns.
    pub vectors: Matrix,
    /// norm(A q - theta q) of each column, with what rounding may hide.
    pub residuals: Vec<f64>,
    /// The largest residual of the first d columns, relative to the largest eigenvalue.
    pub residual: f64,
    /// An upper bound on the sine of the largest angle.
    pub sine_bound: f64,
}

/// Eigenvectors with their certificate, and how all samples lie to them where the solver knows it without a pass.
pub(crate) struct Decomposed {
    pub certified: Certified,
    pub measured: Option<SampleDistances>,
}

/// The bound of the head of this file, for the first `d` of some Ritz values.
pub(crate) fn sine_bound(values: &[f64], residuals: &[f64], d: usize) -> f64 {
    let outside = if values.len() > d { values[d] + residuals[d] } else { 0.0 };
    let mut square = 0.0;
    for (theta, r) in values.iter().zip(residuals).take(d) {
        let gap = theta - outside;
        if gap <= 0.0 {
            return 1.0;
        }
        square += (r / gap).powi(2);
    }
    square.sqrt().min(1.0)
}

/// Rotates some vectors to the eigenvectors of A within their span, and measures what is left outside of it.
pub(crate) fn certify(operator: &impl Operator, vectors: Matrix, d: usize, runner: &impl Runner) -> Result<Certified> {
    certify_to(f64::INFINITY, operator, vectors, d, runner)
}

/// The same; while the bound is above the tolerance, the span is widened by the residuals, a few times.
///
/// What single precision left over is spread across directions that A hardly answers to, and there a residual is the
/// error itself, times -theta: one application more removes it.
pub(crate) fn certify_to(
    tolerance: f64,
    operator: &impl Operator,
    mut vectors: Matrix,
    d: usize,
    runner: &impl Runner,
) -> Result<Certified> {
    runner.compute(|| orthonormalize(&mut vectors, 0.0).map(|_| ()))?;
    let count = vectors.columns();
    let images = operator.apply(&vectors)?;
    let mut span = Span { vectors, images };
    for widened in 0.. {
        let (found, mut residuals) = runner.compute(|| span.rotate(d, count))?;
        if found.sine_bound <= tolerance || found.values[0] <= 0.0 || widened == MAX_WIDENINGS {
            return Ok(found);
        }
        runner.compute(|| outside(&found.vectors, &mut residuals))?;
        if residuals.columns() == 0 {
            return Ok(found);
        }
        let answered = operator.apply(&residuals)?;
        let beside = || Span { vectors: found.vectors.beside(&residuals), images: span.images.beside(&answered) };
        span = runner.compute(beside);
    }
    unreachable!("the loop ends at MAX_WIDENINGS")
}

/// Orthonormal columns, and what A makes of them.
struct Span {
    vectors: Matrix,
    images: Matrix,
}

impl Span {
    /// The top `count` eigenvectors of A within the span, whose images stay here, and their residuals as columns.
    fn rotate(&mut self, d: usize, count: usize) -> Result<(Certified, Matrix)> {
        let h = tall_inner(&self.vectors, &self.images);
        let (mut values, rotation) = symmetric_eigen(&symmetric_part(&h))?;
        values.truncate(count);
        let rotation = rotation.first_columns(values.len());
        let vectors = product(&self.vectors, &rotation);
        self.images = product(&self.images, &rotation);
        // R = Z S - Q Theta.
        let mut residuals = self.images.clone();
        let mut theta = Matrix::zeros(values.len(), values.len());
        values.iter().enumerate().for_each(|(i, l)| theta[(i, i)] = *l);
        tall_subtract(&mut residuals, &vectors, &theta);
        // What rounding may hide in a residual.
        let unseen = 4.0 * f64::EPSILON * values[0].abs();
        let lengths: Vec<f64> = residuals.column_norms().into_iter().map(|r| r + unseen).collect();
        let whole = vectors.rows() == d;
        let certified = Certified {
            residual: lengths.iter().take(d).fold(0.0f64, |m, r| m.max(*r)) / values[0].abs().max(f64::MIN_POSITIVE),
            sine_bound: if whole { 0.0 } else { sine_bound(&values, &lengths, d) },
            values,
            vectors,
            residuals: lengths,
        };
        Ok((certified, residuals))
    }
}

/// Makes residuals an orthonormal basis of what they add to some vectors.
fn outside(vectors: &Matrix, residuals: &mut Matrix) -> Result<()> {
    // Made long, a short residual shows the vectors again: once more for that.
    for floor in [0.0, NEW_DIRECTION_MIN] {
        let inner = tall_inner(vectors, residuals);
        tall_subtract(residuals, vectors, &inner);
        orthonormalize(residuals, floor)?;
    }
    Ok(())
}

/// (H + H') / 2: the same matrix without the rounding that makes it unsymmetric.
pub(crate) fn symmetric_part(h: &Matrix) -> Matrix {
    let mut out = h.clone();
    for i in 0..h.rows() {
        for j in 0..h.columns() {
            out[(i, j)] = 0.5 * (h[(i, j)] + h[(j, i)]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::engine::local::Local;
    use crate::numeric::random::Stream;
    use crate::numeric::random::normal_matrix;

    /// Eigenvectors are the axes.
    struct Diagonal {
        values: Vec<f64>,
        applied: Cell<usize>,
    }

    impl Diagonal {
        fn new(values: Vec<f64>) -> Self {
            Self { values, applied: Cell::new(0) }
        }

        /// The first axes, each coordinate moved by about `noise`.
        fn top(&self, count: usize, noise: f64) -> Matrix {
            let mut vectors = normal_matrix(self.values.len(), count, 7, Stream::Krylov);
            vectors.data_mut().iter_mut().for_each(|x| *x *= noise);
            (0..count).for_each(|i| vectors[(i, i)] += 1.0);
            vectors
        }
    }

    impl Operator for Diagonal {
        fn dimension(&self) -> usize {
            self.values.len()
        }

        fn apply(&self, w: &Matrix) -> Result<Matrix> {
            self.applied.set(self.applied.get() + 1);
            let mut out = w.clone();
            for (i, value) in self.values.iter().enumerate() {
                out.row_mut(i).iter_mut().for_each(|x| *x *= value);
            }
            Ok(out)
        }
    }

    fn sine(vectors: &Matrix, d: usize) -> f64 {
        let outside = (d..vectors.rows()).flat_map(|i| vectors.row(i)[..d].iter().copied());
        outside.map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn one_application_more_removes_noise() {
        let runner = Local::new(1).unwrap();
        let values = |i: usize| [1.0, 0.9, 0.8, 0.3].get(i).copied().unwrap_or(1e-3 / (1 + i) as f64);
        let operator = Diagonal::new((0..500).map(values).collect());
        let noisy = certify(&operator, operator.top(4, 1e-6), 3, &runner).unwrap();
        assert_eq!(operator.applied.take(), 1);
        assert!(noisy.sine_bound > 1e-5, "{:e}", noisy.sine_bound);
        let found = certify_to(1e-6, &operator, operator.top(4, 1e-6), 3, &runner).unwrap();
        assert_eq!(operator.applied.take(), 2);
        assert!(sine(&found.vectors, 3) <= found.sine_bound && found.sine_bound <= 1e-6, "{:e}", found.sine_bound);
        let unit = tall_inner(&found.vectors, &found.vectors);
        for (i, x) in unit.data().iter().enumerate() {
            assert!((x - f64::from(u8::from(i % 5 == 0))).abs() < 1e-13);
        }
    }

    #[test]
    fn what_widening_cannot_mend_is_given_back_with_its_bound() {
        let runner = Local::new(1).unwrap();
        // A gap of a millionth: steps towards it are small.
        let operator = Diagonal::new((0..300).map(|i| 1.0 - 1e-6 * i as f64).collect());
        let found = certify_to(1e-9, &operator, operator.top(3, 1e-3), 2, &runner).unwrap();
        assert_eq!(operator.applied.get(), 1 + MAX_WIDENINGS);
        assert!(found.sine_bound > 1e-9);
    }

    #[test]
    fn the_whole_space_is_not_widened() {
        let runner = Local::new(1).unwrap();
        let operator = Diagonal::new(vec![3.0, 2.0, 1.0]);
        let found = certify_to(0.0, &operator, operator.top(3, 0.1), 3, &runner).unwrap();
        assert_eq!((operator.applied.get(), found.sine_bound), (1, 0.0));
    }
}
