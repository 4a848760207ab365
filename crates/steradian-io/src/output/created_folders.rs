//! Folders that are created for an output, and removed again if it is not written.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::output::temporary::while_creating;

/// Folders of this process, for [`remove_empty`].
static CREATED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the empty ones of the folders that this process created; called before the process ends without unwinding.
pub(crate) fn remove_empty() {
    for folder in CREATED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Folders that did not exist before. Those that are empty are removed on drop.
#[derive(Debug)]
pub struct CreatedFolders(Vec<PathBuf>);

impl CreatedFolders {
    /// Creates a folder and its parents.
    pub fn create(path: &Path) -> io::Result<Self> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        // The deepest first.
        let created = Self(path.ancestors().take_while(missing).map(Path::to_path_buf).collect());
        CREATED.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&created.0);
        while_creating(|| std::fs::create_dir_all(path))?;
        Ok(created)
    }
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // This fails if the folder is not empty, as intended.
            let _ = std::fs::remove_dir(folder);
        }
        CREATED.lock().unwrap_or_else(PoisonError::into_inner).retain(|folder| !self.0.contains(folder));
    }
}
