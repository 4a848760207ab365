//! Element types, blocks of rows, sources of blocks and views of sources.

pub(crate) mod block;
pub(crate) mod element;
pub(crate) mod row_map;
pub(crate) mod slice;
pub(crate) mod source;
pub(crate) mod view;
