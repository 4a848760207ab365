//! Model files and output folders.

use std::path::{Path, PathBuf};

use steradian::{Error, Model, Result};
use steradian_io::AtomicFile;

/// Reads a model file.
pub fn read_model(path: &Path) -> Result<Model> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Model::from_bytes(&bytes).map_err(|error| match error {
        // The library parses bytes without a path; the message needs it.
        Error::InvalidArgument { problem: what, .. } | Error::InvalidData(what) => Error::corrupt_file(path, what),
        other => other,
    })
}

/// A folder for outputs. If it was created and remains empty, it is removed on drop, with the parents that were created.
pub struct OutputFolder {
    path: PathBuf,
    /// Folders that were created, the deepest first.
    created: Vec<PathBuf>,
}

impl OutputFolder {
    /// Creates the folder if it is missing; fails if it is not writable.
    pub fn create(path: &Path) -> Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let created = path.ancestors().take_while(missing).map(Path::to_path_buf).collect();
        make_folder(path)?;
        let folder = Self { path: path.to_path_buf(), created };
        require_writable(&path.join("summary.json"))?;
        Ok(folder)
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes files without renaming them into place, so that a full disk is detected before the first rename.
    pub fn stage_file(&self, files: &[(&str, &[u8])]) -> Result<Vec<AtomicFile>> {
        files.iter().map(|(name, bytes)| steradian_io::stage_file(self.file(name), bytes)).collect()
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        for folder in &self.created {
            // This fails if the folder is not empty, as intended.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Creates a folder and its parents.
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}

/// Fails if an output cannot be written; called before long work.
pub fn require_writable(path: &Path) -> Result<()> {
    AtomicFile::create(path).map(drop)
}
