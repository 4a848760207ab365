//! Projections of samples onto a few vectors, gathered in data order: scores, or cosines to anchors.
//!
//! Cost: one pass, 2 n D l flops, 8 l bytes a gathered sample.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Directions;
use super::weighted_rows::SentDirections;
use crate::codec::packed;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::numeric::linalg::Matrix;
use crate::remote::job::{Kind, Work};

/// In what units projections are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Units {
    /// Of the directions: w (x - mu)' v.
    Direction,
    /// Of the data: (x - mu)' v.
    Data,
}

/// Gathers projections of every `every`-th sample.
#[derive(Debug, Clone)]
pub struct Projection<'a> {
    directions: Directions<'a>,
    width: usize,
    operand: Cow<'a, Operand>,
    units: Units,
    every: usize,
}

impl<'a> Projection<'a> {
    /// Projections onto the columns of `vectors` (D x l).
    pub fn new(
        directions: Directions<'a>,
        vectors: &Matrix,
        units: Units,
        precision: Precision,
        element: ElementType,
    ) -> Self {
        let width = vectors.columns();
        let operand = Cow::Owned(Operand::for_element(directions.center(), width, Some(vectors), precision, element));
        Self { directions, width, operand, units, every: 1 }
    }

    /// Gathers only samples whose index is a multiple of `every`.
    pub fn thinned(mut self, every: usize) -> Self {
        self.every = every.max(1);
        self
    }
}

/// The same pass on its way to another process, and there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SentProjection<'a> {
    directions: SentDirections<'a>,
    operand: Cow<'a, Operand>,
    units: Units,
    every: usize,
}

impl SentProjection<'_> {
    pub(crate) fn fold(&self) -> Projection<'_> {
        Projection {
            directions: self.directions.directions(),
            width: self.operand.columns(),
            operand: Cow::Borrowed(&self.operand),
            units: self.units,
            every: self.every,
        }
    }
}

/// What was gathered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ProjectionSum {
    /// Projections of the gathered samples that speak, row after row.
    #[serde(with = "packed")]
    pub values: Vec<f64>,
    /// Whether each sample, gathered or not, speaks.
    pub speaks: Vec<bool>,
}

impl Fold for Projection<'_> {
    type Sum = ProjectionSum;
    type Out = ProjectionSum;

    fn name(&self) -> &'static str {
        "scores"
    }

    fn ship(&self) -> Option<Work<'_>> {
        Some(Work(Kind::Scores(SentProjection {
            directions: (&self.directions).into(),
            operand: Cow::Borrowed(&self.operand),
            units: self.units,
            every: self.every,
        })))
    }

    fn sum_bytes(&self) -> usize {
        0 // grows with the rows of a cell; all cells together hold the answer once
    }

    fn empty(&self) -> ProjectionSum {
        ProjectionSum::default()
    }

    fn add(&self, sum: &mut ProjectionSum, block: &Block<'_>) -> Result<()> {
        let (y, weights) = self.operand.project(&self.directions, block);
        for (row, (w, y)) in weights.iter().zip(y.chunks(self.width)).enumerate() {
            if *w > 0.0 && (block.first() + row).is_multiple_of(self.every) {
                let unit = if self.units == Units::Data { 1.0 } else { *w };
                sum.values.extend(y.iter().map(|y| y * unit));
            }
        }
        sum.speaks.extend(weights.iter().map(|&w| w > 0.0));
        Ok(())
    }

    fn merge(&self, mut left: ProjectionSum, right: ProjectionSum) -> ProjectionSum {
        left.values.extend(right.values);
        left.speaks.extend(right.speaks);
        left
    }

    fn finish(&self, sum: ProjectionSum) -> Result<ProjectionSum> {
        Ok(sum)
    }
}
