//! Some columns of all samples, gathered in data order: for statistics that need a feature's values together.
//!
//! Cost: one pass that touches those columns, 8 bytes a value.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::packed;
use crate::data::block::Block;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::panel;
use crate::numeric::linalg::Matrix;

/// Gathers a range of columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SelectColumns {
    columns: Range<usize>,
    origin: Vec<f64>,
}

impl SelectColumns {
    /// These columns of data with this many features.
    pub fn new(columns: Range<usize>, features: usize) -> Self {
        Self { columns, origin: vec![0.0; features] }
    }
}

/// Values row after row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct GatheredSum(#[serde(with = "packed")] Vec<f64>);

impl Fold for SelectColumns {
    const NAME: &'static str = "columns";

    type Accumulator = GatheredSum;
    /// Samples x columns.
    type Out = Matrix;

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a cell; all cells together hold the answer once
    }

    fn empty(&self) -> GatheredSum {
        GatheredSum::default()
    }

    fn add(&self, sum: &mut GatheredSum, block: &Block<'_>) -> Result<()> {
        let before = sum.0.len();
        sum.0.resize(before + block.rows() * self.columns.len(), 0.0);
        let own = &mut sum.0[before..];
        panel::center(block, 0..block.rows(), self.columns.clone(), &self.origin, None, own);
        Ok(())
    }

    fn merge(&self, mut left: GatheredSum, right: GatheredSum) -> GatheredSum {
        left.0.extend(right.0);
        left
    }

    fn finish(&self, sum: GatheredSum) -> Result<Matrix> {
        let width = self.columns.len();
        Ok(Matrix::from_vec(sum.0.len() / width.max(1), width, sum.0))
    }
}
