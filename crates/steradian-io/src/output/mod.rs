//! Files that are written: results that appear complete or not at all, and checkpoints.

pub(crate) mod checkpoint;
pub(crate) mod record;
pub(crate) mod write;
