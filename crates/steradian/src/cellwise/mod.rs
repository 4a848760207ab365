//! Rows and cells against a subspace: wrapped cells, scores over usable cells, bad cells, and the weight of a row.
//!
//! A cell is missing (NaN), bad (too far from its expected value), or usable. Every quantity of a row is a function of
//! that row and a [`RowModel`], so the same code serves the rows of a fit and new rows, in any partition.

pub(crate) mod features;
pub(crate) mod row_model;
pub(crate) mod row_step;
pub(crate) mod student;
pub(crate) mod vectors;

pub(crate) use features::FeatureStats;
pub use row_model::RowModel;
pub(crate) use row_step::{CellState, RowState, RowStep, RowWork};
