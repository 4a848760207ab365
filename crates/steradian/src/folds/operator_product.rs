//! The product of the operator with a few vectors in one pass, without forming its matrix.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | U | `directions` | n x D rows w (x - mu) |
//! | Q, any vectors | W in [`Coefficients::Project`] | D x l |
//! | U U' Q of eq. (4) | the result Z = sum w^2 (x - mu)(x - mu)' W | D x l |
//!
//! Cost: one pass, 4 n D l flops. With [`Coefficients::Given`] the result is Z = sum w (x - mu) y', which converts
//! eigenvectors of the Gram matrix to components, or weights of samples to their weighted sum.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::{inconsistent, packed, require_length};
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::numeric::linalg::{Matrix, zeroed};

/// The coefficients y of each sample.
#[derive(Debug, Clone, Copy)]
pub enum Coefficients<'a> {
    /// y = W' w (x - mu), for W of D x l.
    Project(&'a Matrix),
    /// Row i of an n x l matrix.
    Given(&'a Matrix),
}

/// The fold that applies the operator to some vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperatorProduct<'a> {
    directions: WeightedRows<'a>,
    given: Option<Cow<'a, Matrix>>,
    operand: Operand,
}

impl<'a> OperatorProduct<'a> {
    /// The product of the operator of `directions`, for data of this element type.
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

    fn accumulator_length(&self) -> usize {
        self.directions.center().len() * self.operand.padded_columns()
    }
}

/// Z of some rows, and the total weight of their active samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperatorProductAccumulator {
    #[serde(with = "packed")]
    z: Vec<f64>,
    total_weight: f64,
}

impl Fold for OperatorProduct<'_> {
    const NAME: &'static str = "operator";

    type Accumulator = OperatorProductAccumulator;
    type Out = (Matrix, f64);

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.directions.check(shape, samples)?;
        self.operand.check(shape.features, self.given.is_none())?;
        match &self.given {
            Some(y) if y.rows() < samples.end || y.columns() != self.operand.columns() => Err(inconsistent(format!(
                "the coefficients are {} x {}, but the samples are {samples:?} and the columns {}",
                y.rows(),
                y.columns(),
                self.operand.columns()
            ))),
            _ => Ok(()),
        }
    }

    fn check_accumulator(&self, accumulator: &OperatorProductAccumulator, _: &Range<usize>) -> Result<()> {
        require_length("the product", accumulator.z.len(), self.accumulator_length())
    }

    fn accumulator_bytes(&self) -> usize {
        self.accumulator_length() * 8
    }

    fn empty(&self) -> OperatorProductAccumulator {
        OperatorProductAccumulator { z: zeroed(self.accumulator_length()), total_weight: 0.0 }
    }

    fn add(&self, accumulator: &mut OperatorProductAccumulator, block: &Block<'_>) -> Result<()> {
        let (mut y, weights) = match &self.given {
            None => self.operand.project(block, self.directions.weigher(block)),
            Some(y) => {
                let width = y.columns();
                let own = &y.data()[block.first() * width..(block.first() + block.rows()) * width];
                (own.to_vec(), self.directions.weights_of(block))
            }
        };
        accumulator.total_weight += self.directions.total_weight(block, &weights);
        let projected = self.given.is_none();
        for (y, w) in y.chunks_exact_mut(self.operand.columns()).zip(&weights) {
            // Multiplied by w twice, because w^2 may overflow where w y w does not.
            y.iter_mut().for_each(|y| *y = if projected { *y * w * w } else { *y * w });
        }
        self.operand.add_outer(block, &y, &mut accumulator.z);
        Ok(())
    }

    fn merge(&self, left: OperatorProductAccumulator, right: OperatorProductAccumulator) -> OperatorProductAccumulator {
        OperatorProductAccumulator {
            z: crate::folds::add_all(left.z, &right.z),
            total_weight: left.total_weight + right.total_weight,
        }
    }

    fn finish(&self, total: OperatorProductAccumulator) -> Result<(Matrix, f64)> {
        Ok((self.operand.unpadded(total.z), total.total_weight))
    }
}
