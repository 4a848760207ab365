//! The D x D scatter matrix sum w^2 (x - mu)(x - mu)', for data with few features.
//!
//! Cost: one pass, n D^2 flops (lower triangle), 8 D^2 bytes per accumulator.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::{packed, require_length};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, add_product_strided, zeroed};

/// Rows of the matrix per task.
const STRIP: usize = 128;

/// The fold that computes the scatter matrix.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scatter<'a> {
    directions: WeightedRows<'a>,
}

impl<'a> Scatter<'a> {
    /// The scatter matrix of these weighted rows.
    pub fn new(directions: WeightedRows<'a>) -> Self {
        Self { directions }
    }

    fn features(&self) -> usize {
        self.directions.center().len()
    }
}

/// The lower triangle for some rows, and the total weight of their active samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScatterAccumulator {
    #[serde(with = "packed")]
    lower: Vec<f64>,
    total_weight: f64,
}

impl Fold for Scatter<'_> {
    const NAME: &'static str = "scatter";

    type Accumulator = ScatterAccumulator;
    type Out = (Matrix, f64);

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.directions.check(shape, samples)
    }

    fn check_accumulator(&self, accumulator: &ScatterAccumulator, _: &Range<usize>) -> Result<()> {
        require_length("the matrix", accumulator.lower.len(), self.features().saturating_mul(self.features()))
    }

    fn accumulator_bytes(&self) -> usize {
        self.features() * self.features() * 8
    }

    fn empty(&self) -> ScatterAccumulator {
        ScatterAccumulator { lower: zeroed(self.features() * self.features()), total_weight: 0.0 }
    }

    fn add(&self, accumulator: &mut ScatterAccumulator, block: &Block<'_>) -> Result<()> {
        let (rows, features) = (block.rows(), self.features());
        let mut u = Matrix::zeros(rows, features);
        let weights: Vec<Vec<f64>> = u
            .data_mut()
            .par_chunks_mut(32 * features)
            .enumerate()
            .map(|(chunk, u)| {
                let rows = chunk * 32..chunk * 32 + u.len() / features;
                let weights = self.directions.weights(block, rows.clone());
                // One panel with all features: D is small if this matrix is formed.
                self.directions.panel(block, rows, 0..features, &weights, u);
                weights
            })
            .collect();
        accumulator.total_weight += self.directions.total_weight(block, &weights.concat());
        accumulator.lower.par_chunks_mut(STRIP * features).enumerate().for_each(|(strip, lower)| {
            let start = strip * STRIP;
            let end = start + lower.len() / features;
            let left = u.view().select_columns(start..end).transposed();
            add_product_strided(lower, features, left, u.view().select_columns(0..end), 1.0);
        });
        Ok(())
    }

    fn merge(&self, left: ScatterAccumulator, right: ScatterAccumulator) -> ScatterAccumulator {
        ScatterAccumulator {
            lower: crate::folds::add_all(left.lower, &right.lower),
            total_weight: left.total_weight + right.total_weight,
        }
    }

    /// The full symmetric matrix and the total weight.
    fn finish(&self, total: ScatterAccumulator) -> Result<(Matrix, f64)> {
        let features = self.features();
        let mut a = Matrix::from_vec(features, features, total.lower);
        for i in 0..features {
            for j in i + 1..features {
                a[(i, j)] = a[(j, i)];
            }
        }
        Ok((a, total.total_weight))
    }
}
