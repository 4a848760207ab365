//! Selection of some samples by their indices, in data order, as f64 values.
//!
//! Cost: one pass over those samples, 8 D bytes per sample.

use serde::{Deserialize, Serialize};

use crate::codec::packed;
use crate::data::block::Block;
use crate::engine::fold::Fold;
use crate::error::Result;

/// The fold that copies some samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SelectRows {
    indices: Vec<usize>,
}

impl SelectRows {
    /// A selection of the samples with these indices, in ascending order.
    ///
    /// # Panics
    /// If the indices are not in ascending order.
    pub fn new(indices: Vec<usize>) -> Self {
        assert!(indices.is_sorted_by(|a, b| a < b), "indices of samples must ascend");
        Self { indices }
    }
}

/// Values of the samples, row by row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SelectedRows(#[serde(with = "packed")] Vec<f64>);

impl Fold for SelectRows {
    const NAME: &'static str = "chosen samples";

    type Accumulator = SelectedRows;
    /// Values of the samples, row by row.
    type Out = Vec<f64>;

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the samples; all leaves together hold the result once
    }

    fn empty(&self) -> SelectedRows {
        SelectedRows::default()
    }

    fn add(&self, accumulator: &mut SelectedRows, block: &Block<'_>) -> Result<()> {
        let place = |sample: usize| self.indices.partition_point(|&i| i < sample);
        for &sample in &self.indices[place(block.first())..place(block.first() + block.rows())] {
            let row = sample - block.first();
            let before = accumulator.0.len();
            accumulator.0.resize(before + block.columns(), 0.0);
            block.read_row(row, &mut accumulator.0[before..]);
        }
        Ok(())
    }

    fn merge(&self, mut left: SelectedRows, right: SelectedRows) -> SelectedRows {
        left.0.extend(right.0);
        left
    }

    fn finish(&self, total: SelectedRows) -> Result<Vec<f64>> {
        Ok(total.0)
    }
}
