//! Selection of some columns of all samples, in data order: for statistics that need all values of a feature.
//!
//! Cost: one pass over those columns, 8 bytes per cell.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, packed, require_length};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::panel;
use crate::memory;
use crate::numeric::linalg::Matrix;

/// The fold that copies a range of columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SelectColumns {
    columns: Range<usize>,
    origin: Vec<f64>,
}

impl SelectColumns {
    /// A selection of these columns of data with this many features.
    pub fn new(columns: Range<usize>, features: usize) -> Self {
        Self { columns, origin: vec![0.0; features] }
    }
}

/// Values of the columns, row by row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SelectedColumns(#[serde(with = "packed")] Vec<f64>);

impl Fold for SelectColumns {
    const NAME: &'static str = "columns";

    type Accumulator = SelectedColumns;
    /// Samples x columns.
    type Out = Matrix;

    fn check(&self, shape: &Shape, _: &Range<usize>) -> Result<()> {
        if self.columns.is_empty() || self.columns.end > shape.features {
            return Err(inconsistent(format!("it selects columns {:?} of {}", self.columns, shape.features)));
        }
        require_length("the origin", self.origin.len(), shape.features)
    }

    fn check_accumulator(&self, accumulator: &SelectedColumns, samples: &Range<usize>) -> Result<()> {
        require_length("the list of cells", accumulator.0.len(), samples.len().saturating_mul(self.columns.len()))
    }

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a leaf; all leaves together hold the result once
    }

    fn empty(&self) -> SelectedColumns {
        SelectedColumns::default()
    }

    fn empty_for(&self, rows: usize) -> SelectedColumns {
        SelectedColumns(memory::reserved(rows * self.columns.len()))
    }

    fn add(&self, accumulator: &mut SelectedColumns, block: &Block<'_>) -> Result<()> {
        let before = accumulator.0.len();
        accumulator.0.resize(before + block.rows() * self.columns.len(), 0.0);
        let own = &mut accumulator.0[before..];
        panel::center(block, 0..block.rows(), self.columns.clone(), &self.origin, None, own);
        Ok(())
    }

    fn merge(&self, mut left: SelectedColumns, right: SelectedColumns) -> SelectedColumns {
        memory::append(&mut left.0, right.0);
        left
    }

    fn finish(&self, total: SelectedColumns) -> Result<Matrix> {
        let width = self.columns.len();
        Ok(Matrix::from_vec(total.0.len() / width.max(1), width, total.0))
    }
}
