//! Vectors prepared for the fused kernels: in the working precision, divided and padded to the widths of the kernels.
//!
//! Threads share each product by fixed parts: rows for Y = (X - mu) W, panels of columns for Z += (X - mu)' Y. Each
//! part is one task, so the order of additions is fixed.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::fused::{self, SplitCenter, WIDTHS};
use super::panel;
use super::simd::Real;
use crate::codec::{bounded, inconsistent, packed};
use crate::data::block::{Block, Rows, each_element};
use crate::data::element::{Element, ElementType};
use crate::error::Result;
use crate::memory;
use crate::numeric::linalg::Matrix;

/// Rows per task of a projection.
const CHUNK_ROWS: usize = 64;
/// Features per task of Z: a multiple of the strips of the kernel.
const PANEL_COLUMNS: usize = 1536;
/// Largest number of pieces that are read from bytes: two million vectors.
const MAX_PIECES: usize = 1 << 16;

/// Precision of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// f32 for u8, u16 and f32 data, f64 for f64 data; sums are f64.
    Working,
    /// f64 for all data.
    Double,
}

impl Precision {
    pub(crate) fn is_double(self, element: ElementType) -> bool {
        self == Self::Double || element.is_double()
    }
}

/// A center and D x l vectors, or only their number l, in the layout of the kernels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Operand {
    columns: usize,
    parts: OperandParts,
}

/// The center and the pieces of the vectors, in the precision of the products.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum OperandParts {
    Single(SplitCenter<f32>, #[serde(deserialize_with = "bounded::<MAX_PIECES, _, _>")] Vec<Piece<f32>>),
    Double(SplitCenter<f64>, #[serde(deserialize_with = "bounded::<MAX_PIECES, _, _>")] Vec<Piece<f64>>),
}

/// Some of the columns, padded with zeros to a width of the kernels.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "F: Real")]
struct Piece<F> {
    columns: Range<usize>,
    width: usize,
    #[serde(with = "packed")]
    w: Vec<F>,
}

fn pieces<F: Real>(columns: usize, w: Option<&Matrix>) -> Vec<Piece<F>> {
    let widest = WIDTHS[WIDTHS.len() - 1];
    panel::chunks(columns, widest)
        .map(|columns| {
            let width = fused::padded_width(columns.len());
            let mut padded = memory::filled(w.map_or(0, |w| w.rows() * width), F::default());
            if let Some(w) = w {
                padded.par_chunks_exact_mut(width).with_min_len(PANEL_COLUMNS).enumerate().for_each(|(row, padded)| {
                    let row = &w.row(row)[columns.clone()];
                    padded.iter_mut().zip(row).for_each(|(to, x)| *to = F::narrow(*x));
                });
            }
            Piece { columns, width, w: padded }
        })
        .collect()
}

impl Operand {
    /// An operand of this many columns; `w` is required only for [`Operand::project`].
    pub(crate) fn new(center: &[f64], columns: usize, w: Option<&Matrix>, double: bool) -> Self {
        let parts = if double {
            OperandParts::Double(SplitCenter::new(center), pieces(columns, w))
        } else {
            OperandParts::Single(SplitCenter::new(center), pieces(columns, w))
        };
        Self { columns, parts }
    }

    /// An operand in the precision for this element type.
    pub(crate) fn for_element(
        center: &[f64],
        columns: usize,
        w: Option<&Matrix>,
        precision: Precision,
        element: ElementType,
    ) -> Self {
        Self::new(center, columns, w, precision.is_double(element))
    }

    /// Rejects an operand that does not agree with itself or with this number of features: it may come from bytes of
    /// another process. `projects` is true if it needs vectors.
    pub(crate) fn check(&self, features: usize, projects: bool) -> Result<()> {
        fn agree<F: Real>(pieces: &[Piece<F>], columns: usize, values: usize) -> bool {
            let expected = panel::chunks(columns, WIDTHS[WIDTHS.len() - 1]);
            columns.div_ceil(WIDTHS[WIDTHS.len() - 1]) == pieces.len()
                && expected.zip(pieces).all(|(columns, piece)| {
                    let width = fused::padded_width(columns.len());
                    piece.columns == columns && piece.width == width && Some(piece.w.len()) == values.checked_mul(width)
                })
        }
        let values = if projects { features } else { 0 };
        let agrees = self.columns > 0
            && match &self.parts {
                OperandParts::Single(center, pieces) => center.has(features) && agree(pieces, self.columns, values),
                OperandParts::Double(center, pieces) => center.has(features) && agree(pieces, self.columns, values),
            };
        if agrees {
            return Ok(());
        }
        Err(inconsistent(format!("its {} vectors are not vectors of {features} features", self.columns)))
    }

    /// The number of vectors, l.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Values of Z per feature: the columns and their padding.
    pub(crate) fn padded_columns(&self) -> usize {
        match &self.parts {
            OperandParts::Single(_, pieces) => pieces.iter().map(|p| p.width).sum(),
            OperandParts::Double(_, pieces) => pieces.iter().map(|p| p.width).sum(),
        }
    }

    /// (X - mu) W, rows x l, and the weight of each row: `weight` is called with the row, its squared distance to the
    /// center, and true if that was computed in f64.
    pub(crate) fn project(
        &self,
        block: &Block<'_>,
        weight: impl Fn(usize, f64, bool) -> f64 + Sync,
    ) -> (Vec<f64>, Vec<f64>) {
        match &self.parts {
            OperandParts::Single(center, pieces) => {
                each_element!(block, data => self.project_typed(&data, center, pieces, weight))
            }
            OperandParts::Double(center, pieces) => {
                each_element!(block, data => self.project_typed(&data, center, pieces, weight))
            }
        }
    }

    fn project_typed<T: Element, F: Real>(
        &self,
        data: &Rows<'_, T>,
        center: &SplitCenter<F>,
        pieces: &[Piece<F>],
        weight: impl Fn(usize, f64, bool) -> f64 + Sync,
    ) -> (Vec<f64>, Vec<f64>) {
        let (rows, l) = (data.rows(), self.columns);
        let mut y = memory::filled(rows * l, 0.0);
        let mut weights = vec![0.0; rows];
        y.par_chunks_mut((CHUNK_ROWS * l).max(1)).zip(weights.par_chunks_mut(CHUNK_ROWS)).enumerate().for_each(
            |(chunk, (y, weights))| {
                let first = chunk * CHUNK_ROWS;
                let rows = first..first + weights.len();
                let mut squares = Vec::new();
                for piece in pieces {
                    let mut padded = vec![0.0; rows.len() * piece.width];
                    squares = vec![0.0; rows.len()];
                    let w = (&piece.w[..], piece.width);
                    fused::project(data, rows.clone(), center, w, &mut padded, &mut squares);
                    for (y, padded) in y.chunks_exact_mut(l).zip(padded.chunks_exact(piece.width)) {
                        y[piece.columns.clone()].copy_from_slice(&padded[..piece.columns.len()]);
                    }
                }
                for ((row, out), square) in rows.zip(weights.iter_mut()).zip(squares) {
                    *out = weight(row, square, size_of::<F>() == 8);
                }
            },
        );
        (y, weights)
    }

    /// Z += (X - mu)' Y; Z consists of the pieces in order, each D x its width.
    pub(crate) fn add_outer(&self, block: &Block<'_>, y: &[f64], z: &mut [f64]) {
        match &self.parts {
            OperandParts::Single(center, pieces) => {
                each_element!(block, data => self.outer_typed(&data, center, pieces, y, z))
            }
            OperandParts::Double(center, pieces) => {
                each_element!(block, data => self.outer_typed(&data, center, pieces, y, z))
            }
        }
    }

    fn outer_typed<T: Element, F: Real>(
        &self,
        data: &Rows<'_, T>,
        center: &SplitCenter<F>,
        pieces: &[Piece<F>],
        y: &[f64],
        mut z: &mut [f64],
    ) {
        for Piece { columns, width, .. } in pieces {
            let mut padded = memory::filled(data.rows() * width, F::default());
            for (padded, y) in padded.chunks_exact_mut(*width).zip(y.chunks_exact(self.columns)) {
                padded.iter_mut().zip(&y[columns.clone()]).for_each(|(to, y)| *to = F::narrow(*y));
            }
            let (own, rest) = z.split_at_mut(data.columns() * width);
            own.par_chunks_mut(PANEL_COLUMNS * width).enumerate().for_each(|(panel, z)| {
                let start = panel * PANEL_COLUMNS;
                fused::outer(data, start..start + z.len() / width, center, (&padded[..], *width), z);
            });
            z = rest;
        }
    }

    /// The D x l matrix of a Z of [`Operand::add_outer`].
    pub(crate) fn unpadded(&self, z: Vec<f64>) -> Matrix {
        let padded = self.padded_columns();
        let features = z.len().checked_div(padded).unwrap_or(0);
        if padded == self.columns && self.columns <= WIDTHS[WIDTHS.len() - 1] {
            return Matrix::from_vec(features, self.columns, z);
        }
        let mut out = Matrix::zeros(features, self.columns);
        let mut rest = &z[..];
        for (columns, width) in self.layout() {
            let (own, next) = rest.split_at(features * width);
            for (row, z) in own.chunks_exact(width).enumerate() {
                out.row_mut(row)[columns.clone()].copy_from_slice(&z[..columns.len()]);
            }
            rest = next;
        }
        out
    }

    fn layout(&self) -> Vec<(Range<usize>, usize)> {
        match &self.parts {
            OperandParts::Single(_, pieces) => pieces.iter().map(|p| (p.columns.clone(), p.width)).collect(),
            OperandParts::Double(_, pieces) => pieces.iter().map(|p| (p.columns.clone(), p.width)).collect(),
        }
    }
}
