//! Projections of samples onto a few vectors, gathered in data order: scores, or cosines to anchors.
//!
//! Cost: one pass, 2 n D l flops, 8 l bytes a gathered sample.

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::packed;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::numeric::linalg::Matrix;

/// In what units projections are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Units {
    /// Of the directions: w (x - mu)' v.
    Direction,
    /// Of the data: (x - mu)' v.
    Data,
}

/// Gathers projections of all samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Projection<'a> {
    directions: WeightedRows<'a>,
    operand: Operand,
    units: Units,
}

impl<'a> Projection<'a> {
    /// Projections onto the columns of `vectors` (D x l).
    pub fn new(
        directions: WeightedRows<'a>,
        vectors: &Matrix,
        units: Units,
        precision: Precision,
        element: ElementType,
    ) -> Self {
        let operand = Operand::for_element(directions.center(), vectors.columns(), Some(vectors), precision, element);
        Self { directions, operand, units }
    }
}

/// What was gathered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Projections {
    /// Projections of the samples that speak, row after row.
    #[serde(with = "packed")]
    pub values: Vec<f64>,
    /// Whether each sample speaks.
    pub active: Vec<bool>,
}

impl Fold for Projection<'_> {
    const NAME: &'static str = "scores";

    type Accumulator = Projections;
    type Out = Projections;

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a cell; all cells together hold the answer once
    }

    fn empty(&self) -> Projections {
        Projections::default()
    }

    fn add(&self, sum: &mut Projections, block: &Block<'_>) -> Result<()> {
        let (y, weights) = self.operand.project(block, self.directions.weigher(block));
        for (w, y) in weights.iter().zip(y.chunks(self.operand.columns())) {
            if *w > 0.0 {
                let unit = if self.units == Units::Data { 1.0 } else { *w };
                sum.values.extend(y.iter().map(|y| y * unit));
            }
        }
        sum.active.extend(weights.iter().map(|&w| w > 0.0));
        Ok(())
    }

    fn merge(&self, mut left: Projections, right: Projections) -> Projections {
        left.values.extend(right.values);
        left.active.extend(right.active);
        left
    }

    fn finish(&self, sum: Projections) -> Result<Projections> {
        Ok(sum)
    }
}
