//! The n x n Gram matrix of weighted rows, for few samples: a pair pass.
//!
//! With uniform weights and a center of integers, u8 and u16 data have an exact integer Gram matrix: products of (u8 -
//! 128) are at most 2^14 and products of (u16 - 32768) at most 2^30, so sums stay below 2^53 and f64 adds them exactly,
//! in any order, up to D = 2^39 and D = 2^23.
//!
//! Cost: one pair pass, n^2 D flops (upper triangle), 8 n^2 bytes.

use std::ops::Range;

use super::WeightedRows;
use crate::codec::require_length;
use crate::data::block::Block;
use crate::engine::fold::PairFold;
use crate::error::Result;
use crate::kernel::int8::{BYTE_TILE_ROWS, MIDDLE_BYTE, TileMode, block_products};
use crate::kernel::panel;
use crate::numeric::linalg::{Matrix, MatrixView, add_product};

/// Rows per tile: two panels of that many rows and their product fit into the L2 cache.
pub(crate) const TILE_ROWS: usize = 96;

/// The pair fold that computes the Gram matrix.
#[derive(Debug, Clone)]
pub struct Gram<'a> {
    directions: WeightedRows<'a>,
    samples: usize,
}

impl<'a> Gram<'a> {
    /// The Gram matrix of the weighted rows of this many samples.
    pub fn new(directions: WeightedRows<'a>, samples: usize) -> Self {
        Self { directions, samples }
    }
}

/// The products of the rows of two blocks: left x right.
pub(crate) fn products(
    directions: &WeightedRows<'_>,
    (left, left_weights): (&Block<'_>, &[f64]),
    (right, right_weights): (&Block<'_>, &[f64]),
) -> Matrix {
    let mut tile = Matrix::zeros(left.rows(), right.rows());
    let (mut a, mut b) = (panel::buffer(left.rows()), panel::buffer(right.rows()));
    for columns in panel::panels(left.columns()) {
        directions.panel(left, 0..left.rows(), columns.clone(), left_weights, &mut a);
        directions.panel(right, 0..right.rows(), columns.clone(), right_weights, &mut b);
        let a = MatrixView::new(&a, left.rows(), columns.len());
        let b = MatrixView::new(&b, right.rows(), columns.len());
        add_product(tile.data_mut(), a, b.transposed(), 1.0);
    }
    tile
}

impl PairFold for Gram<'_> {
    type Tile = Matrix;
    type Out = Matrix;

    fn name(&self) -> &'static str {
        "gram"
    }

    fn empty(&self) -> Matrix {
        Matrix::zeros(self.samples, self.samples)
    }

    fn check_out(&self, out: &Matrix) -> Result<()> {
        require_length("the rows of the Gram matrix", out.rows(), self.samples)?;
        require_length("the columns of the Gram matrix", out.columns(), self.samples)
    }

    fn compute_tile(&self, left: &Block<'_>, right: &Block<'_>) -> Result<Matrix> {
        // With fewer than three tiles, threads share a tile instead of taking one each.
        let mode = TileMode { symmetric: left.first() == right.first(), shared: self.samples <= 2 * BYTE_TILE_ROWS };
        if self.directions.is_plain(MIDDLE_BYTE)
            && let Some(products) = block_products(left, right, mode)
        {
            return Ok(Matrix::from_vec(left.rows(), right.rows(), products));
        }
        let weights = |block: &Block<'_>| self.directions.weights(block, 0..block.rows());
        Ok(products(&self.directions, (left, &weights(left)), (right, &weights(right))))
    }

    fn place(&self, out: &mut Matrix, left: Range<usize>, right: Range<usize>, tile: Matrix) {
        for (i, row) in left.clone().enumerate() {
            out.row_mut(row)[right.clone()].copy_from_slice(tile.row(i));
        }
        if left != right {
            for (j, row) in right.enumerate() {
                let mirror = &mut out.row_mut(row)[left.clone()];
                mirror.iter_mut().enumerate().for_each(|(i, x)| *x = tile[(i, j)]);
            }
        }
    }
}
