//! The operator A = (1/m) sum w^2 (x - mu)(x - mu)' of a fit: applied by passes, or as a matrix in memory.

use rayon::prelude::*;

use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Coefficients, OperatorProduct, WeightedRows};
use crate::kernel::operand::Precision;
use crate::numeric::linalg::{Matrix, product};

/// Columns of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width(pub usize);

impl Width {
    /// A few more than the wanted vectors, in multiples of eight, which products like.
    pub(crate) fn for_components(d: usize, dimension: usize) -> Self {
        Self((d + 4).next_multiple_of(8).min(dimension))
    }

    /// As few columns as find that many vectors without many steps more.
    pub(crate) fn narrow(d: usize, dimension: usize) -> Self {
        Self((d + 2).next_multiple_of(8).min(dimension))
    }
}

/// A symmetric operator that can be applied to a few vectors at a time.
pub(crate) trait Operator {
    /// The length of a vector.
    fn dimension(&self) -> usize;

    /// A W, for W of dimension x l.
    fn apply(&self, w: &Matrix) -> Result<Matrix>;

    /// Columns of a block from which `d` vectors are found.
    fn block_width(&self, d: usize) -> Width {
        Width::for_components(d, self.dimension())
    }

    /// Steps after which it pays to look whether an iteration is done: looking costs an eigenproblem of the basis.
    fn steps_between_checks(&self) -> usize {
        1
    }
}

/// Applied by a pass over the data.
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
        let sketch = self.runner.compute(|| {
            OperatorProduct::new(self.directions.clone(), Coefficients::Project(w), self.precision, element)
        });
        let (mut z, mass) = self.runner.run(&sketch, self.source)?;
        let share = if mass > 0.0 { 1.0 / mass } else { 1.0 };
        self.runner.compute(|| z.data_mut().par_iter_mut().with_min_len(1 << 15).for_each(|x| *x *= share));
        Ok(z)
    }
}

/// A matrix in memory.
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

    /// Narrower than for passes: a step costs little, and more of them within fewer columns leave a smaller basis to
    /// orthogonalise and to solve.
    fn block_width(&self, d: usize) -> Width {
        Width::narrow(d, self.dimension())
    }

    fn steps_between_checks(&self) -> usize {
        3
    }
}
