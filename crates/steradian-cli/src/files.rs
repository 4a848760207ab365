//! Models and folders on disk.

use std::path::{Path, PathBuf};

use steradian::{Error, Model, Result};
use steradian_io::AtomicFile;

/// Reads a model file.
pub fn read_model(path: &Path) -> Result<Model> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Model::from_bytes(&bytes).map_err(|error| match error {
        // The library sees bytes only; the user wants to know which file.
        Error::InvalidArgument { problem: what, .. } | Error::InvalidData(what) => Error::corrupt_file(path, what),
        other => other,
    })
}

/// A folder for outputs; if it was made for them and stays empty, it is gone afterwards, and so are those above it that were
/// made with it.
pub struct OutputFolder {
    path: PathBuf,
    /// The deepest first.
    made: Vec<PathBuf>,
}

impl OutputFolder {
    /// Makes the folder unless it is there; fails when nothing can be written into it.
    pub fn create(path: &Path) -> Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = path.ancestors().take_while(missing).map(Path::to_path_buf).collect();
        make_folder(path)?;
        let folder = Self { path: path.to_path_buf(), made };
        require_writable(&path.join("summary.json"))?;
        Ok(folder)
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes files that are complete but for their names, so that a disk that is full is met before the first has one.
    pub fn stage_file(&self, files: &[(&str, &[u8])]) -> Result<Vec<AtomicFile>> {
        files.iter().map(|(name, bytes)| steradian_io::stage_file(self.file(name), bytes)).collect()
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        for folder in &self.made {
            // It fails when there is anything in the folder, which is what is wanted then.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}

/// Refuses an output that could not be written, before hours are spent on it.
pub fn require_writable(path: &Path) -> Result<()> {
    AtomicFile::create(path).map(drop)
}
