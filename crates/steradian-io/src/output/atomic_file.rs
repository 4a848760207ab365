//! Files that are written atomically: complete and in place, or absent.
//!
//! The content is written to a file without a name, where the system has such files, and to a temporary name otherwise.
//! When it is complete and on disk, the file gets its name. Until then a process that ends for any reason leaves
//! nothing, or one file of a name that the next run removes (see `temporary.rs`).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use steradian::error::os_error_text;
use steradian::{Error, Result};

use crate::output::commit::{CommittedFile, place, sync_folder};
use crate::output::temporary::{TemporaryName, create_file};
use crate::system::resolve::{folder_of, resolve};

/// A file that is written atomically: [`AtomicFile::finish`] puts it into place; dropping it before removes it.
///
/// An existing file is replaced atomically. If the path is a symbolic link, the target of the link is replaced.
/// Several files that belong together are put into place by [`commit`].
#[derive(Debug)]
pub struct AtomicFile {
    /// The path in messages.
    path: PathBuf,
    /// The path without links.
    target: PathBuf,
    file: BufWriter<File>,
    /// The name of the temporary file, removed unless it is renamed into place; `None` if the file has no name.
    name: Option<TemporaryName>,
}

impl AtomicFile {
    /// Creates the temporary file; the folder must exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_as(path.as_ref(), path.as_ref())
    }

    /// Creates the temporary file of `target`; messages show `path`.
    pub(crate) fn create_as(path: &Path, target: &Path) -> Result<Self> {
        if let Ok(kind) = std::fs::metadata(target)
            && !kind.is_file()
        {
            // A rename would replace the device itself.
            let what = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
            let problem = format!("cannot write to {what}; pass the path of a file");
            return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        let created = resolve(target).and_then(|target| Ok((create_file(&target)?, target)));
        let ((file, name), target) = created.map_err(|e| cannot_write(path, &e))?;
        Ok(Self { path: path.to_path_buf(), target, file: BufWriter::with_capacity(1 << 18, file), name })
    }

    /// Flushes and syncs the content to disk. The remaining rename needs no disk space.
    pub fn complete(&mut self) -> Result<()> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|e| cannot_write(&self.path, &e))
    }

    /// Syncs the content to disk, then puts the file into place.
    pub fn finish(self) -> Result<()> {
        commit(vec![self])
    }

    /// Writes all bytes; unlike with [`Write::write_all`], the error names the file.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| cannot_write(&self.path, &e))
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, and the path at which another process can open it; `None` if it has none.
    #[cfg(feature = "video")]
    pub(crate) fn handle(&self) -> (&File, Option<&Path>) {
        (self.file.get_ref(), self.name.as_ref().map(TemporaryName::path))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The [`Error::Io`] of a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let problem = format!(
        "cannot be written: {}; check that its folder exists, is writable and has free space",
        os_error_text(error)
    );
    Error::io(path, io::Error::new(error.kind(), problem))
}

/// Puts files into place that belong together. All contents are on disk before the first file gets its name. If a file
/// cannot be put into place, those before it are taken back: new ones are removed, and replaced ones return.
///
/// A process that is killed within this call may leave some files new and some old, each of them complete.
pub fn commit(mut files: Vec<AtomicFile>) -> Result<()> {
    files.iter_mut().try_for_each(AtomicFile::complete)?;
    let together = files.len() > 1;
    // The open files hold the locks of their temporary names until all are in place.
    let (mut placed, mut open) = (Vec::<CommittedFile>::new(), Vec::new());
    for AtomicFile { path, target, file, name } in files {
        let (file, _) = file.into_parts();
        match place(&file, name, target, together) {
            Ok(file) => placed.push(file),
            Err(error) => {
                placed.into_iter().rev().for_each(CommittedFile::take_back);
                return Err(cannot_write(&path, &error));
            }
        }
        open.push(file);
    }
    let mut folders: Vec<&Path> = placed.iter().map(|placed| folder_of(placed.target())).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.into_iter().for_each(sync_folder);
    Ok(())
}

/// Writes a file atomically.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    stage_file(path, bytes)?.finish()
}

/// Writes and syncs a file without putting it into place; [`AtomicFile::finish`] or [`commit`] does that. Several files
/// can be staged first and then finished without failing for lack of disk space.
pub fn stage_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    file.append(bytes)?;
    file.complete()?;
    Ok(file)
}
