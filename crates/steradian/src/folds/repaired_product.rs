//! The product of the repaired rows with some columns, sum w z (z'V): the rows are repaired from what a pass of
//! [`RobustMoments`](super::RobustMoments) listed, so that no row is compared with the model again. The sums are equal to those of that
//! fold in every bit.
//!
//! Cost: one pass, 4 n D l flops for the product; rows with bad cells take 4 D d more to find these.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::robust_moments::{RepairedRow, add_basis_product, chunk_rows};
use crate::cellwise::{RowModel, RowStep, RowWork};
use crate::codec::{packed, require_finite, require_length};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::memory;
use crate::numeric::linalg::{Matrix, MatrixView, zeroed};

/// The fold of the product with some columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RepairedProduct<'a> {
    model: Cow<'a, RowModel>,
    /// A list of [`RepairedRow`], in the order of the samples.
    rows: Cow<'a, [f64]>,
    basis: Cow<'a, Matrix>,
}

impl<'a> RepairedProduct<'a> {
    pub(crate) fn new(model: &'a RowModel, rows: &'a [f64], basis: &'a Matrix) -> Self {
        Self { model: Cow::Borrowed(model), rows: Cow::Borrowed(rows), basis: Cow::Borrowed(basis) }
    }
}

/// The product over some rows, D x l.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RepairedProductAccumulator(#[serde(with = "packed")] Vec<f64>);

impl Fold for RepairedProduct<'_> {
    const NAME: &'static str = "product of repaired rows";

    type Accumulator = RepairedProductAccumulator;
    type Out = Matrix;

    fn check(&self, shape: &Shape, _samples: &Range<usize>) -> Result<()> {
        self.model.check(shape.features)?;
        let numbers = RepairedRow::numbers(self.model.n_components());
        require_length("the repaired rows", self.rows.len(), shape.samples.saturating_mul(numbers))?;
        require_length("the rows of the basis", self.basis.rows(), shape.features)?;
        require_finite("the basis", self.basis.data())
    }

    fn check_accumulator(&self, accumulator: &RepairedProductAccumulator, _samples: &Range<usize>) -> Result<()> {
        require_length("the product", accumulator.0.len(), self.basis.data().len())
    }

    fn accumulator_bytes(&self) -> usize {
        // The grid, and with it the order of the sums, is that of the fold with all moments.
        8 * self.basis.rows() * (1 + self.basis.columns())
    }

    fn empty(&self) -> RepairedProductAccumulator {
        RepairedProductAccumulator(zeroed(self.basis.data().len()))
    }

    fn add(&self, accumulator: &mut RepairedProductAccumulator, block: &Block<'_>) -> Result<()> {
        let (features, d) = (self.model.n_features(), self.model.n_components());
        let step = RowStep::new(&self.model);
        let chunk_rows = chunk_rows(features);
        let mut repaired = memory::filled(chunk_rows.min(block.rows()) * features, 0.0);
        let numbers = RepairedRow::numbers(d);
        let mut start = 0;
        while start < block.rows() {
            let end = (start + chunk_rows).min(block.rows());
            let repaired = &mut repaired[..(end - start) * features];
            let first = block.first() + start;
            let list = &self.rows[first * numbers..(first + end - start) * numbers];
            let rows: Vec<RepairedRow<'_>> = RepairedRow::rows(list, d).collect();
            repaired.par_chunks_mut(features).zip(&rows).enumerate().for_each_init(
                || (RowWork::new(features), memory::filled(features, 0.0)),
                |(work, row), (index, (repaired, own))| {
                    block.read_row(start + index, row);
                    own.repair(&step, row, work, repaired);
                },
            );
            let weights = rows.iter().map(|row| row.weight());
            add_basis_product(
                &mut accumulator.0,
                MatrixView::new(repaired, end - start, features),
                &self.basis,
                weights,
            );
            start = end;
        }
        Ok(())
    }

    fn merge(&self, left: RepairedProductAccumulator, right: RepairedProductAccumulator) -> RepairedProductAccumulator {
        RepairedProductAccumulator(super::add_all(left.0, &right.0))
    }

    fn finish(&self, total: RepairedProductAccumulator) -> Result<Matrix> {
        Ok(Matrix::from_vec(self.basis.rows(), self.basis.columns(), total.0))
    }
}
