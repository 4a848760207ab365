//! The product of the operator with a few vectors, in one pass, without forming the matrix.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | U | `directions` | n x D rows w (x - mu) |
//! | Q, any vectors | W in [`Coefficients::Project`] | D x l |
//! | U U' Q of eq. (4) | the result Z = sum w^2 (x - mu)(x - mu)' W | D x l |
//!
//! Cost: one pass, 4 n D l flops. With [`Coefficients::Given`] it is Z = sum w (x - mu) y', which turns eigenvectors
//! of the n x n matrix into components, or weights of samples into their weighted sum.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::packed;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::numeric::linalg::{Matrix, zeroed};

/// What multiplies each sample.
#[derive(Debug, Clone, Copy)]
pub enum Coefficients<'a> {
    /// y = W' w (x - mu), for W of D x l.
    Project(&'a Matrix),
    /// Row i of an n x l matrix.
    Given(&'a Matrix),
}

/// One application of the operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperatorProduct<'a> {
    directions: WeightedRows<'a>,
    given: Option<Cow<'a, Matrix>>,
    operand: Operand,
}

impl<'a> OperatorProduct<'a> {
    /// Applies the operator of `directions` to data of this type.
    pub fn new(
        directions: WeightedRows<'a>,
        coefficients: Coefficients<'a>,
        precision: Precision,
        element: ElementType,
    ) -> Self {
        let (columns, w, given) = match coefficients {
            Coefficients::Project(w) => (w.columns(), Some(w), None),
            Coefficients::Given(y) => (y.columns(), None, Some(y)),
        };
        let operand = Operand::for_element(directions.center(), columns, w, precision, element);
        Self { directions, given: given.map(Cow::Borrowed), operand }
    }

    fn sum_length(&self) -> usize {
        self.directions.center().len() * self.operand.padded_columns()
    }
}

/// Z so far, and how much the samples that spoke count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SketchSum {
    #[serde(with = "packed")]
    z: Vec<f64>,
    mass: f64,
}

impl Fold for OperatorProduct<'_> {
    const NAME: &'static str = "operator";

    type Accumulator = SketchSum;
    type Out = (Matrix, f64);

    fn accumulator_bytes(&self) -> usize {
        self.sum_length() * 8
    }

    fn empty(&self) -> SketchSum {
        SketchSum { z: zeroed(self.sum_length()), mass: 0.0 }
    }

    fn add(&self, sum: &mut SketchSum, block: &Block<'_>) -> Result<()> {
        let (mut y, weights) = match &self.given {
            None => self.operand.project(block, self.directions.weigher(block)),
            Some(y) => {
                let width = y.columns();
                let own = &y.data()[block.first() * width..(block.first() + block.rows()) * width];
                (own.to_vec(), self.directions.weights_of(block))
            }
        };
        sum.mass += self.directions.mass(block, &weights);
        let projected = self.given.is_none();
        for (y, w) in y.chunks_exact_mut(self.operand.columns()).zip(&weights) {
            // One weight at a time: w^2 alone could overflow where w y w does not.
            y.iter_mut().for_each(|y| *y = if projected { *y * w * w } else { *y * w });
        }
        self.operand.add_outer(block, &y, &mut sum.z);
        Ok(())
    }

    fn merge(&self, left: SketchSum, right: SketchSum) -> SketchSum {
        SketchSum { z: crate::folds::add_all(left.z, &right.z), mass: left.mass + right.mass }
    }

    fn finish(&self, sum: SketchSum) -> Result<(Matrix, f64)> {
        Ok((self.operand.unpadded(sum.z), sum.mass))
    }
}
