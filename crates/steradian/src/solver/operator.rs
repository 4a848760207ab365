//! The operator A = (1/m) sum w^2 (x - mu)(x - mu)' of a fit: applied by passes, or as a matrix in memory.

use rayon::prelude::*;

use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Coefficients, OperatorProduct, WeightedRows};
use crate::kernel::operand::Precision;
use crate::numeric::linalg::{Matrix, product};

/// Number of columns of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width(pub usize);

impl Width {
    /// The width for `d` vectors by passes: at least d + 4, a multiple of eight for fast matrix products.
    pub(crate) fn for_components(d: usize, dimension: usize) -> Self {
        Self((d + 4).next_multiple_of(8).min(dimension))
    }

    /// The width for `d` vectors in memory: the smallest that does not need many more steps.
    pub(crate) fn narrow(d: usize, dimension: usize) -> Self {
        Self((d + 2).next_multiple_of(8).min(dimension))
    }
}

/// A symmetric operator that can be applied to a few vectors at a time.
pub(crate) trait Operator {
    /// The dimension of a vector.
    fn dimension(&self) -> usize;

    /// A W, for W of dimension x l.
    fn apply(&self, w: &Matrix) -> Result<Matrix>;

    /// Width of a block of the iteration for `d` vectors.
    fn block_width(&self, d: usize) -> Width {
        Width::for_components(d, self.dimension())
    }

    /// Number of steps between convergence checks, each of which costs an eigenproblem of the basis.
    fn steps_between_checks(&self) -> usize {
        1
    }
}

/// The operator of weighted rows, applied by one pass over the data.
pub(crate) struct PassOperator<'a, R> {
    pub source: &'a dyn Source,
    pub directions: WeightedRows<'a>,
    pub precision: Precision,
    pub runner: &'a R,
}

impl<R: Runner> Operator for PassOperator<'_, R> {
    fn dimension(&self) -> usize {
        self.directions.center().len()
    }

    fn apply(&self, w: &Matrix) -> Result<Matrix> {
        let element = self.source.shape().element;
        let product = self.runner.compute(|| {
            OperatorProduct::new(self.directions.clone(), Coefficients::Project(w), self.precision, element)
        });
        let (mut z, mass) = self.runner.run(&product, self.source)?;
        let factor = if mass > 0.0 { 1.0 / mass } else { 1.0 };
        self.runner.compute(|| z.data_mut().par_iter_mut().with_min_len(1 << 15).for_each(|x| *x *= factor));
        Ok(z)
    }
}

/// A symmetric matrix in memory.
pub(crate) struct Dense<'a, R> {
    pub matrix: &'a Matrix,
    pub runner: &'a R,
}

impl<R: Runner> Operator for Dense<'_, R> {
    fn dimension(&self) -> usize {
        self.matrix.rows()
    }

    fn apply(&self, w: &Matrix) -> Result<Matrix> {
        self.runner.check_cancelled()?;
        Ok(self.runner.compute(|| product(self.matrix, w)))
    }

    /// Narrower than for passes: a step is cheap, and fewer columns give a smaller basis to orthogonalize and a smaller
    /// eigenproblem.
    fn block_width(&self, d: usize) -> Width {
        Width::narrow(d, self.dimension())
    }

    fn steps_between_checks(&self) -> usize {
        3
    }
}
