//! Output files: atomic writes of results, and checkpoints.

pub(crate) mod checkpoint;
pub(crate) mod record;
pub(crate) mod write;
