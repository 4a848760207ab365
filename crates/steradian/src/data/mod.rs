//! Element types, blocks of rows, sources of blocks and views of sources.

pub(crate) mod block;
pub(crate) mod element;
#[cfg(feature = "faer")]
pub(crate) mod faer_source;
pub(crate) mod masked_cells;
#[cfg(feature = "ndarray")]
pub(crate) mod ndarray_source;
pub(crate) mod row_map;
pub(crate) mod row_selection;
pub(crate) mod slice;
pub(crate) mod source;
pub(crate) mod view;

pub use block::{Block, BlockData, BlockElement, Rows};
pub use element::{Element, ElementType};
pub use masked_cells::MaskedCells;
pub use row_map::{RowMap, SignFlips};
pub use row_selection::RowSelection;
pub use source::{Shape, View};
