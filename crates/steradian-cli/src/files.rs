//! Model files.

use std::path::Path;

use steradian::{Error, Model, Result};

/// Reads a model file.
pub fn read_model(path: &Path) -> Result<Model> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Model::from_bytes(&bytes).map_err(|error| match error {
        // The library parses bytes without a path; the message needs it.
        Error::InvalidArgument { problem: what, .. } | Error::InvalidData(what) => Error::corrupt_file(path, what),
        other => other,
    })
}
