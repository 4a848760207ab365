//! Projections of samples onto a few vectors, in data order: scores, or cosines to anchors.
//!
//! Cost: one pass, 2 n D l flops, 8 l bytes per active sample.

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

/// Units of the projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProjectionUnits {
    /// Those of weighted rows: w (x - mu)' v.
    Direction,
    /// Those of the data: (x - mu)' v.
    Original,
}

/// The fold that computes the projections of all samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Projection<'a> {
    directions: WeightedRows<'a>,
    operand: Operand,
    units: ProjectionUnits,
}

impl<'a> Projection<'a> {
    /// Projections onto the columns of `vectors` (D x l).
    pub fn new(
        directions: WeightedRows<'a>,
        vectors: &Matrix,
        units: ProjectionUnits,
        precision: Precision,
        element: ElementType,
    ) -> Self {
        let operand = Operand::for_element(directions.center(), vectors.columns(), Some(vectors), precision, element);
        Self { directions, operand, units }
    }
}

/// Projections of the active samples.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Projections {
    /// Projections of the active samples, row by row.
    #[serde(with = "packed")]
    pub values: Vec<f64>,
    /// True for each active sample.
    pub active: Vec<bool>,
}

impl Clone for Projections {
    fn clone(&self) -> Self {
        Self { values: memory::copied(&self.values), active: memory::copied(&self.active) }
    }
}

impl Fold for Projection<'_> {
    const NAME: &'static str = "scores";

    type Accumulator = Projections;
    type Out = Projections;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.directions.check(shape, samples)?;
        self.operand.check(shape.features, true)
    }

    fn check_accumulator(&self, accumulator: &Projections, samples: &Range<usize>) -> Result<()> {
        require_length("the mask of active samples", accumulator.active.len(), samples.len())?;
        let active = accumulator.active.iter().filter(|&&active| active).count();
        require_length(
            "the list of projections",
            accumulator.values.len(),
            active.saturating_mul(self.operand.columns()),
        )
    }

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a leaf; all leaves together hold the result once
    }

    fn empty(&self) -> Projections {
        Projections::default()
    }

    fn empty_for(&self, rows: usize) -> Projections {
        Projections { values: memory::reserved(rows * self.operand.columns()), active: memory::reserved(rows) }
    }

    fn add(&self, accumulator: &mut Projections, block: &Block<'_>) -> Result<()> {
        let (y, weights) = self.operand.project(block, self.directions.weigher(block));
        for (w, y) in weights.iter().zip(y.chunks(self.operand.columns())) {
            if *w > 0.0 {
                let unit = if self.units == ProjectionUnits::Original { 1.0 } else { *w };
                accumulator.values.extend(y.iter().map(|y| y * unit));
            }
        }
        accumulator.active.extend(weights.iter().map(|&w| w > 0.0));
        Ok(())
    }

    fn merge(&self, mut left: Projections, right: Projections) -> Projections {
        memory::append(&mut left.values, right.values);
        memory::append(&mut left.active, right.active);
        left
    }

    fn finish(&self, total: Projections) -> Result<Projections> {
        Ok(total)
    }
}
