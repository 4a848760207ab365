//! The certificate: an a-posteriori error bound of a computed subspace.
//!
//! | symbol | here |
//! |---|---|
//! | Q, k = d + 1 orthonormal columns | `vectors` |
//! | theta_i, Ritz values | `values` |
//! | r_i = A q_i - theta_i q_i | `residuals[i]` = norm(r_i) |
//!
//! | t, trace of A | `trace` |
//!
//! The sine of the largest principal angle to the exact subspace is at most sqrt(sum_i (norm(r_i) / (theta_i - l))^2)
//! with l = theta_{d+1} + norm(r_{d+1}), an upper estimate of the largest eigenvalue outside. The bound holds unless
//! the random start missed a direction. Cost: one application of the operator, and one per expansion of the span.
//!
//! The trace limits what may be missed: A is positive semidefinite, so its eigenvalues outside of the span of Q sum to
//! t - sum_i theta_i. The largest one is at most that sum, and at least that sum divided by the number of dimensions
//! outside. If that average exceeds l, a direction was missed; then, and if no vector outside was found, the sum takes the
//! place of l.

use super::operator::Operator;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::SampleDistances;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner, tall_subtract};
use crate::numeric::orthonormal::orthonormalize;

/// Largest number of expansions of a span.
const MAX_EXPANSIONS: usize = 2;
/// Differences of a trace and a sum of eigenvalues below this fraction of the trace are rounding errors.
const ROUNDED_TRACE: f64 = 1e-12;
/// A unit vector whose norm outside the span is smaller than this is rounding.
pub(crate) const NEW_DIRECTION_MIN: f64 = 0.5;

/// Eigenvectors with their residuals and error bound.
#[derive(Debug, Clone)]
pub(crate) struct Certified {
    /// Eigenvalues of A, largest first.
    pub values: Vec<f64>,
    /// Orthonormal columns.
    pub vectors: Matrix,
    /// norm(A q - theta q) of each column, plus a bound on its rounding error.
    pub residuals: Vec<f64>,
    /// The largest residual of the first d columns, relative to the largest eigenvalue.
    pub residual: f64,
    /// Upper bound on the sine of the largest principal angle to the exact subspace.
    pub sine_bound: f64,
}

/// Eigenvectors with their certificate, and the distances of all samples if the solver computes them without a pass.
pub(crate) struct Decomposed {
    pub certified: Certified,
    pub measured: Option<SampleDistances>,
}

/// The sine bound of the module documentation for the first `d` of some Ritz values.
pub(crate) fn sine_bound(values: &[f64], residuals: &[f64], d: usize) -> f64 {
    sine_bound_above(largest_outside(values, residuals, d), values, residuals, d)
}

/// The upper estimate of the largest eigenvalue outside, from the vector after the first `d`; 0 if there is none.
fn largest_outside(values: &[f64], residuals: &[f64], d: usize) -> f64 {
    if values.len() > d { values[d] + residuals[d] } else { 0.0 }
}

/// The sine bound if no eigenvalue outside exceeds `outside`.
fn sine_bound_above(outside: f64, values: &[f64], residuals: &[f64], d: usize) -> f64 {
    let mut square = 0.0;
    for (theta, r) in values.iter().zip(residuals).take(d) {
        let gap = theta - outside;
        if gap.is_nan() || gap <= 0.0 {
            return 1.0;
        }
        square += (r / gap).powi(2);
    }
    if square.is_nan() { 1.0 } else { square.sqrt().min(1.0) }
}

impl Certified {
    /// Compares the eigenvalues with the trace of the operator, whose rank is at most `rank`, and corrects the bound.
    /// Returns a lower bound on an eigenvalue that was missed, if one was.
    pub(crate) fn compare_with_trace(&mut self, trace: f64, rank: usize, d: usize) -> Option<f64> {
        let dimension = self.vectors.rows();
        if dimension == d {
            return None;
        }
        let (found, estimate) = (self.values.len(), largest_outside(&self.values, &self.residuals, d));
        let rest = (trace - self.values.iter().sum::<f64>()).max(0.0);
        let average = rest / (dimension - found).min(rank).max(1) as f64;
        let missed = found > d && average > estimate + ROUNDED_TRACE * trace;
        if (missed || found == d) && rest > estimate {
            self.sine_bound = sine_bound_above(rest, &self.values, &self.residuals, d);
        }
        missed.then_some(average)
    }
}

/// Rotates some vectors to the eigenvectors of A within their span, and computes their residuals. One application of A.
pub(crate) fn certify(operator: &impl Operator, vectors: Matrix, d: usize, runner: &impl Runner) -> Result<Certified> {
    certify_to(f64::INFINITY, operator, vectors, d, runner)
}

/// Certifies some vectors; while the bound exceeds the tolerance, expands the span by the residuals, at most
/// [`MAX_EXPANSIONS`] times.
///
/// The error of f32 passes lies in directions with eigenvalues near 0. In those directions a residual is the error
/// times -theta, so one more application of A removes it.
pub(crate) fn certify_to(
    tolerance: f64,
    operator: &impl Operator,
    mut vectors: Matrix,
    d: usize,
    runner: &impl Runner,
) -> Result<Certified> {
    runner.compute(|| orthonormalize(&mut vectors, 0.0).map(|_| ()))?;
    let count = vectors.columns();
    if count == 0 {
        return Err(Error::invalid_data("the samples have no direction; use rows that differ"));
    }
    let images = operator.apply(&vectors)?;
    let mut span = Span { vectors, images };
    for expansions in 0.. {
        let (found, mut residuals) = runner.compute(|| span.rotate(d, count))?;
        if found.sine_bound <= tolerance || found.values[0] <= 0.0 || expansions == MAX_EXPANSIONS {
            return Ok(found);
        }
        runner.compute(|| outside(&found.vectors, &mut residuals))?;
        if residuals.columns() == 0 {
            return Ok(found);
        }
        let images = operator.apply(&residuals)?;
        let expand = || Span { vectors: found.vectors.beside(&residuals), images: span.images.beside(&images) };
        span = runner.compute(expand);
    }
    unreachable!("the loop ends at MAX_EXPANSIONS")
}

/// Orthonormal columns V, and A V.
struct Span {
    vectors: Matrix,
    images: Matrix,
}

impl Span {
    /// The top `count` eigenvectors of A within the span, and their residuals as columns. Rotates the images with them.
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
        // Upper bound on the rounding error of a residual.
        let rounding = 4.0 * f64::EPSILON * values[0].abs();
        let norms: Vec<f64> = residuals.column_norms().into_iter().map(|r| r + rounding).collect();
        let whole = vectors.rows() == d;
        let certified = Certified {
            residual: norms.iter().take(d).fold(0.0f64, |m, r| m.max(*r)) / values[0].abs().max(f64::MIN_POSITIVE),
            sine_bound: if whole { 0.0 } else { sine_bound(&values, &norms, d) },
            values,
            vectors,
            residuals: norms,
        };
        Ok((certified, residuals))
    }
}

/// Replaces residuals by an orthonormal basis of their part outside the span of some vectors.
fn outside(vectors: &Matrix, residuals: &mut Matrix) -> Result<()> {
    // Normalizing a short residual amplifies its rounding error along the vectors: a second sweep removes it.
    for floor in [0.0, NEW_DIRECTION_MIN] {
        let inner = tall_inner(vectors, residuals);
        tall_subtract(residuals, vectors, &inner);
        orthonormalize(residuals, floor)?;
    }
    Ok(())
}

/// (H + H') / 2, which removes the asymmetry caused by rounding.
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

    /// Diagonal operator: its eigenvectors are the coordinate axes.
    struct Diagonal {
        values: Vec<f64>,
        applied: Cell<usize>,
    }

    impl Diagonal {
        fn new(values: Vec<f64>) -> Self {
            Self { values, applied: Cell::new(0) }
        }

        /// The first coordinate axes plus normal noise of standard deviation `noise`.
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
    fn a_span_that_expansion_does_not_certify_is_returned_with_its_bound() {
        let runner = Local::new(1).unwrap();
        // A relative gap of 1e-6: expansions reduce the error slowly.
        let operator = Diagonal::new((0..300).map(|i| 1.0 - 1e-6 * i as f64).collect());
        let found = certify_to(1e-9, &operator, operator.top(3, 1e-3), 2, &runner).unwrap();
        assert_eq!(operator.applied.get(), 1 + MAX_EXPANSIONS);
        assert!(found.sine_bound > 1e-9);
    }

    #[test]
    fn the_trace_tells_of_a_direction_that_was_missed() {
        let runner = Local::new(1).unwrap();
        let values = vec![5.0, 4.0, 3.0, 0.5, 0.4];
        let trace = values.iter().sum::<f64>();
        let operator = Diagonal::new(values);
        // Axes 1 to 4 only: the largest eigenvalue is outside.
        let without_first = |count: usize| {
            let mut vectors = Matrix::zeros(5, count);
            (0..count).for_each(|i| vectors[(i + 1, i)] = 1.0);
            vectors
        };
        let mut found = certify(&operator, without_first(3), 2, &runner).unwrap();
        assert!(found.sine_bound < 1e-14);
        let missed = found.compare_with_trace(trace, 5, 2).unwrap();
        assert!((missed - 5.4 / 2.0).abs() < 1e-12, "{missed}");
        assert_eq!(found.sine_bound, 1.0);
        // No vector outside: the rest of the trace is what may be there.
        let mut found = certify(&operator, operator.top(3, 0.0), 3, &runner).unwrap();
        assert!(found.compare_with_trace(trace, 5, 3).is_none() && found.sine_bound < 1e-14);
        let mut found = certify(&operator, without_first(3), 3, &runner).unwrap();
        found.compare_with_trace(trace, 5, 3);
        assert_eq!(found.sine_bound, 1.0);
        // All of the space is explained.
        let mut found = certify(&operator, operator.top(5, 0.0), 4, &runner).unwrap();
        assert!(found.compare_with_trace(trace, 5, 4).is_none());
    }

    #[test]
    fn the_whole_space_is_not_expanded() {
        let runner = Local::new(1).unwrap();
        let operator = Diagonal::new(vec![3.0, 2.0, 1.0]);
        let found = certify_to(0.0, &operator, operator.top(3, 0.1), 3, &runner).unwrap();
        assert_eq!((operator.applied.get(), found.sine_bound), (1, 0.0));
    }
}
