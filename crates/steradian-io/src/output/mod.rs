//! Files that are written: results, atomically, and checkpoints.

pub(crate) mod checkpoint;
pub(crate) mod record;
pub(crate) mod write;
