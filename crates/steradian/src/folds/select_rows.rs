//! Some samples by their numbers, gathered in data order as f64 values.
//!
//! Cost: one pass that touches those samples alone, 8 D bytes a sample.

use serde::{Deserialize, Serialize};

use crate::codec::packed;
use crate::data::block::Block;
use crate::engine::fold::Fold;
use crate::error::Result;

/// Gathers some samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SelectRows {
    indices: Vec<usize>,
}

impl SelectRows {
    /// The samples of these indices, which must ascend.
    ///
    /// # Panics
    /// When they do not.
    pub fn new(indices: Vec<usize>) -> Self {
        assert!(indices.is_sorted_by(|a, b| a < b), "indices of samples ascend");
        Self { indices }
    }
}

/// Samples one after the other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ChosenRowsSum(#[serde(with = "packed")] Vec<f64>);

impl Fold for SelectRows {
    const NAME: &'static str = "chosen samples";

    type Accumulator = ChosenRowsSum;
    /// The numbers of the samples, row after row.
    type Out = Vec<f64>;

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the samples; all cells together hold the answer once
    }

    fn empty(&self) -> ChosenRowsSum {
        ChosenRowsSum::default()
    }

    fn add(&self, sum: &mut ChosenRowsSum, block: &Block<'_>) -> Result<()> {
        let place = |sample: usize| self.indices.partition_point(|&i| i < sample);
        for &sample in &self.indices[place(block.first())..place(block.first() + block.rows())] {
            let row = sample - block.first();
            let before = sum.0.len();
            sum.0.resize(before + block.columns(), 0.0);
            block.read_row(row, &mut sum.0[before..]);
        }
        Ok(())
    }

    fn merge(&self, mut left: ChosenRowsSum, right: ChosenRowsSum) -> ChosenRowsSum {
        left.0.extend(right.0);
        left
    }

    fn finish(&self, sum: ChosenRowsSum) -> Result<Vec<f64>> {
        Ok(sum.0)
    }
}
