//! A candidate of the search: a model with the scores, states and support of the rows of its table.

use crate::cellwise::{CellState, RowModel};
use crate::numeric::linalg::Matrix;

/// A model of the rows of a table.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub model: RowModel,
    /// Scores of all rows.
    pub scores: Matrix,
    /// The support: rows near the subspace.
    pub kept: Vec<bool>,
    /// The states of all cells, row by row.
    pub cells: Vec<CellState>,
    /// The limit of the orthogonal distances of kept rows.
    pub row_cutoff: f64,
    /// Columns from which the next eigenproblem starts.
    pub basis: Matrix,
    /// The objective of the last Student steps.
    pub objective: Vec<f64>,
}
