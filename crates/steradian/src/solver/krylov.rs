//! Block Krylov iteration with Rayleigh-Ritz and thick restarts: the top eigenvectors of an operator.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | V, the basis | `basis`, a list of blocks | D x c |
//! | H = V'AV | `h` | c x c |
//! | the next block | `next` | D x l |
//! | next' A V | `coupling` | l x c |
//!
//! A V = V H + next * coupling, so the residual of a Ritz vector V s is norm(coupling s), without a pass. When the
//! basis is full it is replaced by its best Ritz vectors (Wu and Simon 2000). Cost: one application of the operator per
//! step; about a third of the passes of a power iteration with blocks of equal width.

use super::certificate::{NEW_DIRECTION_MIN, sine_bound, symmetric_part};
use super::operator::{Operator, Width};
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner, tall_subtract};
use crate::numeric::orthonormal::orthonormalize;
use crate::numeric::random::{Stream, normal_matrix};

/// Largest number of applications of the operator.
const MAX_STEPS: usize = 300;
/// Largest number of blocks of a basis.
const MAX_BLOCKS: usize = 12;
/// Smallest number of blocks of a basis: one for the restart and two to grow.
const MIN_BLOCKS: usize = 3;
/// Approximate bytes of a basis between the limits in blocks.
const BASIS_BYTES: usize = 32 << 20;
/// A vector with a norm below this, relative to the largest eigenvalue, is rounding.
const ROUNDING: f64 = 1e-13;
/// Random columns of a block beside the vectors of a start, if the solution is certified.
const FRESH_COLUMNS: usize = 2;
/// Steps of a certified solution before its convergence is tested: random columns show a direction after one application.
const CERTIFIED_STEPS: usize = 2;
/// Largest residual of vector d + 1, relative to its distance from eigenvalue d, at which it stands for all directions
/// outside. If an eigenvalue has more copies than there are dimensions outside of the basis, the basis contains exact
/// eigenvectors of it, but not all of them; the next Ritz vector is then a mixture of the missing one with others.
const SETTLED_OUTSIDE: f64 = 0.1;
/// Columns whose norm shrinks by more than this factor are orthogonalized once more after normalization.
const LOST_DIGITS: f64 = 100.0;

/// Largest number of columns of the basis for vectors of this dimension.
pub(crate) fn max_columns(dimension: usize, width: Width) -> usize {
    let affordable = BASIS_BYTES / 8 / dimension.max(1);
    affordable.clamp(MIN_BLOCKS * width.0, MAX_BLOCKS * width.0)
}

/// The use of a solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A certificate follows, so that no direction may be missed.
    Certified,
    /// The start of a next step.
    Approximate,
}

/// The top `count` Ritz vectors as columns, fewer if the rank of the operator is lower. Iterates from `start`, or from
/// random vectors, until the sine bound of the first `d` is at most `tolerance`.
pub(crate) fn top_vectors(
    operator: &impl Operator,
    start: Option<&Matrix>,
    (d, count): (usize, usize),
    (tolerance, purpose): (f64, Purpose),
    seed: u64,
    runner: &impl Runner,
) -> Result<Matrix> {
    let dimension = operator.dimension();
    let width = operator.block_width(d);
    let limit = max_columns(dimension, Width::for_components(d, dimension));
    let mut next = runner.compute(|| normal_matrix(dimension, width.0, seed, Stream::Krylov));
    if let Some(start) = start {
        // Vectors of the start first; random vectors fill the block, so that no direction is missed.
        let fresh = if purpose == Purpose::Certified { FRESH_COLUMNS } else { 0 };
        let known = start.columns().min(width.0.saturating_sub(fresh));
        for i in 0..dimension {
            next.row_mut(i)[..known].copy_from_slice(&start.row(i)[..known]);
        }
    }
    runner.compute(|| orthonormalize(&mut next, 0.0).map(|_| ()))?;
    let first_check = if purpose == Purpose::Certified { CERTIFIED_STEPS } else { 1 };
    let mut state = KrylovBasis { basis: Vec::new(), h: Matrix::zeros(0, 0), next };
    for step in 1.. {
        let z = operator.apply(&state.next)?;
        let coupling = runner.compute(|| state.extend(z))?;
        let exhausted = state.next.columns() == 0;
        let full = state.columns() + state.next.columns() > limit;
        if !(exhausted || full || step == MAX_STEPS || step.is_multiple_of(operator.steps_between_checks())) {
            continue;
        }
        let (ritz, residuals) = runner.compute(|| state.ritz(&coupling))?;
        let settled = purpose == Purpose::Approximate || is_settled(&ritz.values, &residuals, d);
        let found = step >= first_check && settled && sine_bound(&ritz.values, &residuals, d) <= tolerance;
        if exhausted || step == MAX_STEPS || found {
            return Ok(runner.compute(|| state.ritz_vectors(&ritz, count.min(ritz.values.len()))));
        }
        if full {
            let keep = (d + width.0).min(limit - state.next.columns()).min(state.columns());
            runner.compute(|| state.restart(&ritz, keep));
        }
    }
    unreachable!("the loop ends at MAX_STEPS")
}

/// True if vector d + 1 is settled: see [`SETTLED_OUTSIDE`].
fn is_settled(values: &[f64], residuals: &[f64], d: usize) -> bool {
    values.len() <= d || residuals[d] <= SETTLED_OUTSIDE * (values[d - 1] - values[d])
}

/// The largest factor by which the norm of a column shrank.
fn shrinkage(before: &[f64], after: &Matrix) -> f64 {
    before
        .iter()
        .zip(after.column_norms())
        .fold(1.0, |most, (b, a)| if a > 0.0 { f64::max(most, b / a) } else { f64::INFINITY })
}

/// State of the iteration; symbols as in the module documentation.
struct KrylovBasis {
    basis: Vec<Matrix>,
    h: Matrix,
    next: Matrix,
}

/// Eigenvalues of H, largest first, and its eigenvectors as columns.
struct Ritz {
    values: Vec<f64>,
    rotation: Matrix,
}

impl KrylovBasis {
    fn columns(&self) -> usize {
        self.h.columns()
    }

    /// Moves `next` into the basis and computes the following block from `z` = A next. Returns the coupling, next' A V.
    fn extend(&mut self, mut z: Matrix) -> Result<Matrix> {
        let new = self.next.columns();
        let old = self.columns();
        self.basis.push(std::mem::take(&mut self.next));
        let full = z.column_norms();
        let mut inner = self.project_out(&mut z);
        // Two sweeps suffice. After one sweep, the remainder grows with every step until the basis loses orthogonality.
        let again = self.project_out(&mut z);
        inner.data_mut().iter_mut().zip(again.data()).for_each(|(a, b)| *a += b);
        let lost = shrinkage(&full, &z);
        let mut h = Matrix::zeros(old + new, old + new);
        for i in 0..old {
            h.row_mut(i)[..old].copy_from_slice(self.h.row(i));
        }
        for i in 0..old + new {
            for j in 0..new {
                h[(i, old + j)] = inner[(i, j)];
                h[(old + j, i)] = inner[(i, j)];
            }
        }
        self.h = symmetric_part(&h);
        // The Frobenius norm of H is at least the largest eigenvalue and at most a few times that.
        let rounding = ROUNDING * self.h.data().iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut mixed = orthonormalize(&mut z, rounding)?;
        // Normalizing a short remainder amplifies its rounding error along the basis: a third sweep removes it.
        if lost > LOST_DIGITS || z.columns() < new {
            self.project_out(&mut z);
            let second = orthonormalize(&mut z, NEW_DIRECTION_MIN)?;
            mixed = product(&second, &mixed);
        }
        let mut coupling = Matrix::zeros(z.columns(), old + new);
        for i in 0..mixed.rows() {
            coupling.row_mut(i)[old..].copy_from_slice(mixed.row(i));
        }
        self.next = z;
        Ok(coupling)
    }

    /// The eigenpairs of A within the basis, and the norms of their residuals.
    fn ritz(&self, coupling: &Matrix) -> Result<(Ritz, Vec<f64>)> {
        let (values, rotation) = symmetric_eigen(&self.h)?;
        let residuals = product(coupling, &rotation).column_norms();
        Ok((Ritz { values, rotation }, residuals))
    }

    /// Z -= V V'Z; returns V'Z.
    fn project_out(&self, z: &mut Matrix) -> Matrix {
        let mut inner = Vec::with_capacity(self.basis.iter().map(Matrix::columns).sum::<usize>() * z.columns());
        for block in &self.basis {
            let part = tall_inner(block, z);
            tall_subtract(z, block, &part);
            inner.extend_from_slice(part.data());
        }
        Matrix::from_vec(inner.len() / z.columns().max(1), z.columns(), inner)
    }

    /// V S for the first `count` Ritz vectors.
    fn ritz_vectors(&self, ritz: &Ritz, count: usize) -> Matrix {
        let rotation = ritz.rotation.first_columns(count);
        let mut vectors = Matrix::zeros(self.basis[0].rows(), count);
        let mut row = 0;
        for block in &self.basis {
            let mut part = Matrix::zeros(block.columns(), count);
            part.data_mut().copy_from_slice(&rotation.data()[row * count..(row + block.columns()) * count]);
            part.data_mut().iter_mut().for_each(|x| *x = -*x);
            tall_subtract(&mut vectors, block, &part);
            row += block.columns();
        }
        vectors
    }

    /// Replaces the basis by its `keep` best Ritz vectors; `next` does not change.
    fn restart(&mut self, ritz: &Ritz, keep: usize) {
        let vectors = self.ritz_vectors(ritz, keep);
        self.h = Matrix::zeros(keep, keep);
        (0..keep).for_each(|i| self.h[(i, i)] = ritz.values[i]);
        self.basis = vec![vectors];
    }
}
