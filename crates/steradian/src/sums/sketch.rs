//! The operator of the whole family, applied to a few vectors in one pass and never formed.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | U | `directions` | n x D rows w (x - mu) |
//! | Q, any vectors | W in [`Coefficients::Project`] | D x l |
//! | U U' Q of eq. (4) | the result Z = sum w^2 (x - mu)(x - mu)' W | D x l |
//!
//! Cost: one pass, 4 n D l flops. With [`Coefficients::Given`] it is Z = sum w (x - mu) y', which turns eigenvectors
//! of the n x n matrix into components, or weights of samples into their weighted sum.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Directions;
use crate::block::Block;
use crate::error::Result;
use crate::kernel::panel;
use crate::linalg::{Matrix, View, add_product};
use crate::pass::Fold;

/// Rows that one task projects, and that one product sums over.
const CHUNK_ROWS: usize = 64;

/// What multiplies each sample.
#[derive(Debug, Clone, Copy)]
pub enum Coefficients<'a> {
    /// y = W' w (x - mu), for W of D x l.
    Project(&'a Matrix),
    /// Row i of an n x l matrix.
    Given(&'a Matrix),
}

/// One application of the operator.
#[derive(Debug, Clone, Copy)]
pub struct Sketch<'a> {
    directions: Directions<'a>,
    coefficients: Coefficients<'a>,
}

impl<'a> Sketch<'a> {
    /// Applies the operator of `directions`.
    pub fn new(directions: Directions<'a>, coefficients: Coefficients<'a>) -> Self {
        Self { directions, coefficients }
    }

    fn shape(&self) -> (usize, usize) {
        let width = match self.coefficients {
            Coefficients::Project(w) => w.columns(),
            Coefficients::Given(y) => y.columns(),
        };
        (self.directions.center().len(), width)
    }
}

/// Z so far, and how many samples spoke.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SketchSum {
    z: Vec<f64>,
    speakers: u64,
}

impl Fold for Sketch<'_> {
    type Sum = SketchSum;
    type Out = (Matrix, u64);

    fn name(&self) -> &'static str {
        "operator"
    }

    fn sum_bytes(&self) -> usize {
        let (features, width) = self.shape();
        features * width * 8
    }

    fn empty(&self) -> SketchSum {
        let (features, width) = self.shape();
        SketchSum { z: vec![0.0; features * width], speakers: 0 }
    }

    fn add(&self, sum: &mut SketchSum, block: &Block<'_>) -> Result<()> {
        let width = self.shape().1;
        let weights: Vec<f64> = panel::chunks(block.rows(), CHUNK_ROWS)
            .collect::<Vec<_>>()
            .into_par_iter()
            .flat_map_iter(|rows| self.directions.weights(block, rows))
            .collect();
        sum.speakers += weights.iter().filter(|&&w| w > 0.0).count() as u64;
        match self.coefficients {
            Coefficients::Project(w) => {
                let y = project(&self.directions, block, &weights, w);
                add_outer(&self.directions, block, &weights, &y, width, &mut sum.z);
            }
            Coefficients::Given(y) => {
                let y = &y.data()[block.first() * width..(block.first() + block.rows()) * width];
                add_outer(&self.directions, block, &weights, y, width, &mut sum.z);
            }
        }
        Ok(())
    }

    fn merge(&self, left: SketchSum, right: SketchSum) -> SketchSum {
        SketchSum { z: super::add_all(left.z, &right.z), speakers: left.speakers + right.speakers }
    }

    fn finish(&self, sum: SketchSum) -> Result<(Matrix, u64)> {
        let (features, width) = self.shape();
        Ok((Matrix::from_vec(features, width, sum.z), sum.speakers))
    }
}

/// Y = U W for the rows of a block, row after row.
pub(super) fn project(directions: &Directions<'_>, block: &Block<'_>, weights: &[f64], w: &Matrix) -> Vec<f64> {
    let width = w.columns();
    let mut y = vec![0.0; block.rows() * width];
    y.par_chunks_mut((CHUNK_ROWS * width).max(1)).enumerate().for_each_init(
        || panel::buffer(CHUNK_ROWS),
        |buffer, (chunk, y)| {
            let rows = chunk * CHUNK_ROWS..chunk * CHUNK_ROWS + y.len() / width;
            for columns in panel::panels(w.rows()) {
                directions.panel(block, rows.clone(), columns.clone(), &weights[rows.clone()], buffer);
                let w = &w.data()[columns.start * width..columns.end * width];
                let u = View::new(buffer, rows.len(), columns.len());
                add_product(y, u, View::new(w, columns.len(), width), 1.0);
            }
        },
    );
    y
}

/// Z += U' Y for the rows of a block. Each task owns a fixed panel of Z, so the order of additions is fixed.
fn add_outer(directions: &Directions<'_>, block: &Block<'_>, weights: &[f64], y: &[f64], width: usize, z: &mut [f64]) {
    z.par_chunks_mut((panel::COLUMNS * width).max(1)).enumerate().for_each_init(
        || panel::buffer(CHUNK_ROWS),
        |buffer, (panel, z)| {
            let columns: Range<usize> = panel * panel::COLUMNS..panel * panel::COLUMNS + z.len() / width;
            for rows in panel::chunks(block.rows(), CHUNK_ROWS) {
                directions.panel(block, rows.clone(), columns.clone(), &weights[rows.clone()], buffer);
                let u = View::new(buffer, rows.len(), columns.len());
                let y = View::new(&y[rows.start * width..], rows.len(), width);
                add_product(z, u.transposed(), y, 1.0);
            }
        },
    );
}
