//! The D x D matrix sum w^2 (x - mu)(x - mu)', for data with few features.
//!
//! Cost: one pass, n D^2 flops (lower triangle), 8 D^2 bytes a sum.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::packed;
use crate::data::block::Block;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, MatrixView, add_product_strided, zeroed};

/// Rows of the matrix that one task adds to.
const STRIP: usize = 128;

/// The scatter of some directions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scatter<'a> {
    directions: WeightedRows<'a>,
}

impl<'a> Scatter<'a> {
    /// Of these directions.
    pub fn new(directions: WeightedRows<'a>) -> Self {
        Self { directions }
    }

    fn features(&self) -> usize {
        self.directions.center().len()
    }
}

/// The lower triangle so far, and how much the samples that spoke count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScatterSum {
    #[serde(with = "packed")]
    lower: Vec<f64>,
    mass: f64,
}

impl Fold for Scatter<'_> {
    const NAME: &'static str = "scatter";

    type Accumulator = ScatterSum;
    type Out = (Matrix, f64);

    fn accumulator_bytes(&self) -> usize {
        self.features() * self.features() * 8
    }

    fn empty(&self) -> ScatterSum {
        ScatterSum { lower: zeroed(self.features() * self.features()), mass: 0.0 }
    }

    fn add(&self, sum: &mut ScatterSum, block: &Block<'_>) -> Result<()> {
        let (rows, features) = (block.rows(), self.features());
        let mut u = Matrix::zeros(rows, features);
        let weights: Vec<Vec<f64>> = u
            .data_mut()
            .par_chunks_mut(32 * features)
            .enumerate()
            .map(|(chunk, u)| {
                let rows = chunk * 32..chunk * 32 + u.len() / features;
                let weights = self.directions.weights(block, rows.clone());
                // One panel as wide as the data: D is small here, or this matrix would not be formed.
                self.directions.panel(block, rows, 0..features, &weights, u);
                weights
            })
            .collect();
        sum.mass += self.directions.mass(block, &weights.concat());
        sum.lower.par_chunks_mut(STRIP * features).enumerate().for_each(|(strip, lower)| {
            let start = strip * STRIP;
            let end = start + lower.len() / features;
            let left = MatrixView::columns(&u, start..end).transposed();
            add_product_strided(lower, features, left, MatrixView::columns(&u, 0..end), 1.0);
        });
        Ok(())
    }

    fn merge(&self, left: ScatterSum, right: ScatterSum) -> ScatterSum {
        ScatterSum { lower: crate::folds::add_all(left.lower, &right.lower), mass: left.mass + right.mass }
    }

    /// The full symmetric matrix.
    fn finish(&self, sum: ScatterSum) -> Result<(Matrix, f64)> {
        let features = self.features();
        let mut a = Matrix::from_vec(features, features, sum.lower);
        for i in 0..features {
            for j in i + 1..features {
                a[(i, j)] = a[(j, i)];
            }
        }
        Ok((a, sum.mass))
    }
}
