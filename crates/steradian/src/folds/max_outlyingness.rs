//! The largest robust z-score of each sample over some projection directions.
//!
//! Cost: one pass, 2 n D l flops, 8 bytes a sample.

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::packed;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::LocationScale;

/// Deviations from a hyperplane within this many times the limit of flatness are rounding.
const ON_PLANE: f64 = 10.0;

/// Looks along the columns of some vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MaxOutlyingness<'a> {
    directions: WeightedRows<'a>,
    operand: Operand,
    spreads: Vec<LocationScale>,
    flat: f64,
}

impl<'a> MaxOutlyingness<'a> {
    /// Where the bulk lies along each column is known; a spread up to `flat` is none.
    pub(crate) fn new(
        directions: WeightedRows<'a>,
        vectors: &Matrix,
        spreads: Vec<LocationScale>,
        flat: f64,
        element: ElementType,
    ) -> Self {
        let operand =
            Operand::for_element(directions.center(), vectors.columns(), Some(vectors), Precision::Working, element);
        Self { directions, operand, spreads, flat }
    }
}

/// For one sample with these projections. Where the bulk has no spread, a sample is on its plane or infinitely far.
pub(crate) fn farthest(projections: &[f64], spreads: &[LocationScale], flat: f64) -> f64 {
    projections.iter().zip(spreads).fold(0.0, |most, (y, spread)| {
        let away = (y - spread.location).abs();
        if spread.scale > flat {
            most.max(away / spread.scale)
        } else if away <= ON_PLANE * flat {
            most
        } else {
            f64::INFINITY
        }
    })
}

/// The distances of some samples, in data order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FarthestSum(#[serde(with = "packed")] Vec<f64>);

impl Fold for MaxOutlyingness<'_> {
    const NAME: &'static str = "outlyingness";

    type Accumulator = FarthestSum;
    type Out = Vec<f64>;

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a cell; all cells together hold the answer once
    }

    fn empty(&self) -> FarthestSum {
        FarthestSum::default()
    }

    fn add(&self, sum: &mut FarthestSum, block: &Block<'_>) -> Result<()> {
        let (y, _) = self.operand.project(block, self.directions.weigher(block));
        sum.0.extend(y.chunks(self.spreads.len()).map(|y| farthest(y, &self.spreads, self.flat)));
        Ok(())
    }

    fn merge(&self, mut left: FarthestSum, right: FarthestSum) -> FarthestSum {
        left.0.extend(right.0);
        left
    }

    fn finish(&self, sum: FarthestSum) -> Result<Vec<f64>> {
        Ok(sum.0)
    }
}
