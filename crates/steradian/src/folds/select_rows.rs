//! Selection of some samples by their indices, in data order, as f64 values.
//!
//! Cost: one pass over those samples, 8 D bytes per sample.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, packed};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::memory;

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

    /// The indices within a range.
    fn chosen(&self, samples: &Range<usize>) -> &[usize] {
        let place = |sample: usize| self.indices.partition_point(|&i| i < sample);
        &self.indices[place(samples.start)..place(samples.end)]
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

    fn check(&self, _: &Shape, _: &Range<usize>) -> Result<()> {
        if !self.indices.is_sorted_by(|a, b| a < b) {
            return Err(inconsistent("the indices of samples are not in ascending order"));
        }
        Ok(())
    }

    fn check_accumulator(&self, accumulator: &SelectedRows, samples: &Range<usize>) -> Result<()> {
        let count = self.chosen(samples).len();
        if accumulator.0.len() != count * accumulator.0.len().checked_div(count).unwrap_or(0) {
            return Err(inconsistent(format!("{} values are not rows of {count} samples", accumulator.0.len())));
        }
        Ok(())
    }

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the samples; all leaves together hold the result once
    }

    fn empty(&self) -> SelectedRows {
        SelectedRows::default()
    }

    fn add(&self, accumulator: &mut SelectedRows, block: &Block<'_>) -> Result<()> {
        for &sample in self.chosen(&(block.first()..block.first() + block.rows())) {
            let row = sample - block.first();
            let before = accumulator.0.len();
            memory::reserve_more(&mut accumulator.0, block.columns());
            accumulator.0.resize(before + block.columns(), 0.0);
            block.read_row(row, &mut accumulator.0[before..]);
        }
        Ok(())
    }

    fn merge(&self, mut left: SelectedRows, right: SelectedRows) -> SelectedRows {
        memory::append(&mut left.0, right.0);
        left
    }

    fn finish(&self, total: SelectedRows) -> Result<Vec<f64>> {
        Ok(total.0)
    }
}
