//! Outlyingness: the largest robust z-score of each sample over some projection directions.
//!
//! Cost: one pass, 2 n D l flops, 8 bytes per sample.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::{packed, require_length};
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::memory;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::LocationScale;

/// Deviations from a hyperplane up to this multiple of `flat` are rounding errors.
const ON_PLANE: f64 = 10.0;

/// The fold that computes the outlyingness over the columns of some vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MaxOutlyingness<'a> {
    directions: WeightedRows<'a>,
    operand: Operand,
    spreads: Vec<LocationScale>,
    flat: f64,
}

impl<'a> MaxOutlyingness<'a> {
    /// Outlyingness with location and scale per column of `vectors`; a scale of at most `flat` counts as 0.
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

/// The outlyingness of one sample with these projections. Where the scale is 0, a sample is on the hyperplane of the
/// majority, or has infinite outlyingness.
pub(crate) fn max_z_score(projections: &[f64], spreads: &[LocationScale], flat: f64) -> f64 {
    projections.iter().zip(spreads).fold(0.0, |most, (y, spread)| {
        let deviation = (y - spread.location).abs();
        if spread.scale > flat {
            most.max(deviation / spread.scale)
        } else if deviation <= ON_PLANE * flat {
            most
        } else {
            f64::INFINITY
        }
    })
}

/// Outlyingness of some samples, in data order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct MaxOutlyingnessAccumulator(#[serde(with = "packed")] Vec<f64>);

impl Clone for MaxOutlyingnessAccumulator {
    fn clone(&self) -> Self {
        Self(memory::copied(&self.0))
    }
}

impl Fold for MaxOutlyingness<'_> {
    const NAME: &'static str = "outlyingness";

    type Accumulator = MaxOutlyingnessAccumulator;
    type Out = Vec<f64>;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.directions.check(shape, samples)?;
        self.operand.check(shape.features, true)?;
        require_length("the list of locations", self.spreads.len(), self.operand.columns())
    }

    fn check_accumulator(&self, accumulator: &MaxOutlyingnessAccumulator, samples: &Range<usize>) -> Result<()> {
        require_length("the outlyingness", accumulator.0.len(), samples.len())
    }

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a leaf; all leaves together hold the result once
    }

    fn empty(&self) -> MaxOutlyingnessAccumulator {
        MaxOutlyingnessAccumulator::default()
    }

    fn empty_for(&self, rows: usize) -> MaxOutlyingnessAccumulator {
        MaxOutlyingnessAccumulator(memory::reserved(rows))
    }

    fn add(&self, accumulator: &mut MaxOutlyingnessAccumulator, block: &Block<'_>) -> Result<()> {
        let (y, _) = self.operand.project(block, self.directions.weigher(block));
        accumulator.0.extend(y.chunks(self.spreads.len()).map(|y| max_z_score(y, &self.spreads, self.flat)));
        Ok(())
    }

    fn merge(
        &self,
        mut left: MaxOutlyingnessAccumulator,
        right: MaxOutlyingnessAccumulator,
    ) -> MaxOutlyingnessAccumulator {
        memory::append(&mut left.0, right.0);
        left
    }

    fn finish(&self, total: MaxOutlyingnessAccumulator) -> Result<Vec<f64>> {
        Ok(total.0)
    }
}
