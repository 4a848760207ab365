//! Models and folders on disk.

use std::path::Path;

use steradian::{Error, Model, Result};
use steradian_io::OutputFile;

/// Reads a model file.
pub fn read_model(path: &Path) -> Result<Model> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Model::from_bytes(&bytes).map_err(|error| match error {
        // The library sees bytes only; the user wants to know which file.
        Error::Asked(what) | Error::Data(what) => Error::broken(path, what),
        other => other,
    })
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}

/// Refuses an output that could not be written, before hours are spent on it.
pub fn require_writable(path: &Path) -> Result<()> {
    OutputFile::create(path).map(drop)
}
