//! `.npy` arrays: memory-mapped or streamed.

pub(crate) mod direct_io;
pub(crate) mod element;
pub(crate) mod mmap;
pub(crate) mod npy_header;
pub(crate) mod npy_source;
pub(crate) mod read_ahead;
pub(crate) mod read_order;
pub(crate) mod row_list;
pub(crate) mod streamed;

pub use npy_source::{NpySource, read_vector};
