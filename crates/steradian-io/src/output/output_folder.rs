//! Output folders: written under a temporary name beside the folder, then put into place in one step.
//!
//! An existing folder is replaced only if `marker.rs` permits it. Old and new folder are exchanged
//! (`renameat2` with `RENAME_EXCHANGE`), and the old one is removed afterwards. Where the system cannot exchange, the old
//! folder is renamed aside (`.steradian-<checksum>-0.old`), the new one is renamed into place, and the old one is
//! removed. A process that is killed leaves at any moment:
//!
//! | moment | left | the next run to that output |
//! |---|---|---|
//! | before the exchange | the old folder, and the incomplete new one under its temporary name | removes the latter |
//! | after the exchange | the new folder, and the old one under the temporary name | removes the latter |
//! | between the two renames | no folder, the old one aside, the new one under its temporary name | restores the old one |

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use steradian::{Error, Result};

use crate::output::atomic_file::{AtomicFile, cannot_write};
use crate::output::commit::{exchange, sync_folder};
use crate::output::created_folders::CreatedFolders;
use crate::output::marker::{MARKER, check_replaceable, marker_of};
use crate::output::temporary::{TemporaryName, aside_name, create_folder, while_creating};
use crate::system::resolve::{FileId, folder_of, resolve};

/// A folder of outputs that belong together: [`OutputFolder::finish`] puts it into place, in place of an earlier one of
/// this program; dropping it before removes it.
#[derive(Debug)]
pub struct OutputFolder {
    /// The path in messages.
    path: PathBuf,
    /// The path without links.
    target: PathBuf,
    /// The temporary folder.
    staged: TemporaryName,
    /// The open temporary folder, which holds its lock.
    _lock: File,
    /// Parents that did not exist.
    _created: CreatedFolders,
}

impl OutputFolder {
    /// Fails if the folder cannot be created or may not replace an existing one; changes nothing. Called before long work.
    pub fn check(path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let target = resolve(path).map_err(|e| cannot_write(path, &e))?;
        restore(&target);
        check_replaceable(path, &target)?;
        check_movable(path, &target)?;
        let existing = target.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        AtomicFile::create_as(path, &existing.join(MARKER)).map(drop)
    }

    /// Creates the temporary folder, and the parents of the folder if they are missing.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |e: io::Error| cannot_write(path, &e);
        let target = resolve(path).map_err(failed)?;
        let created = CreatedFolders::create(folder_of(&target)).map_err(failed)?;
        restore(&target);
        check_replaceable(path, &target)?;
        let (lock, staged) = create_folder(&target).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), target, staged, _lock: lock, _created: created })
    }

    /// The present path of a file in the folder, by its name within it. It changes when the folder is put into place.
    pub fn staged(&self, name: &str) -> PathBuf {
        self.staged.path().join(name)
    }

    /// Writes a file into the folder. The name may contain folders, which are created.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let staged = self.prepare(name)?;
        let created = while_creating(|| File::create(staged));
        created.and_then(|mut file| file.write_all(bytes)).map_err(|e| cannot_write(&self.path.join(name), &e))
    }

    /// Writes a file into the folder and syncs it to disk.
    pub fn write_synced(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.file(name)?;
        file.append(bytes)?;
        file.finish()
    }

    /// A new file in the folder, for large content; [`AtomicFile::finish`] puts it into the folder.
    pub fn file(&self, name: &str) -> Result<AtomicFile> {
        let staged = self.prepare(name)?;
        AtomicFile::create_as(&self.path.join(name), &staged)
    }

    /// The staged path of a file whose folder exists.
    fn prepare(&self, name: &str) -> Result<PathBuf> {
        let staged = self.staged(name);
        if name.contains('/') {
            let created = while_creating(|| std::fs::create_dir_all(folder_of(&staged)));
            created.map_err(|e| cannot_write(&self.path.join(name), &e))?;
        }
        Ok(staged)
    }

    /// Puts the folder into place. An existing one is replaced; fails if it holds other files by now.
    pub fn finish(self) -> Result<()> {
        let failed = |e: io::Error| cannot_write(&self.path, &e);
        let marker = marker_of(self.staged.path()).map_err(failed)?;
        self.write_synced(MARKER, marker.as_bytes())?;
        check_replaceable(&self.path, &self.target)?;
        if let Ok(existing) = std::fs::metadata(&self.target) {
            std::fs::set_permissions(self.staged.path(), existing.permissions()).map_err(failed)?;
        }
        sync_folder(self.staged.path());
        let Self { path, target, staged, .. } = self;
        replace(&path, staged, &target)?;
        sync_folder(folder_of(&target));
        Ok(())
    }
}

/// Renames a folder into place and removes an existing one.
fn replace(path: &Path, staged: TemporaryName, target: &Path) -> Result<()> {
    let failed = |e: io::Error| cannot_write(path, &e);
    if !target.exists() {
        while_creating(|| std::fs::rename(staged.path(), target)).map_err(failed)?;
        staged.renamed();
        return Ok(());
    }
    if exchange(staged.path(), target).map_err(failed)? {
        let old = staged.exchanged();
        // A file that was added since the last check is not lost. Otherwise dropping the name removes the old folder.
        if let Err(added) = check_replaceable(path, old.path()) {
            let _ = exchange(old.path(), target);
            drop(old.exchanged());
            return Err(added);
        }
        return Ok(());
    }
    set_aside(staged.path(), target).map_err(failed)?;
    staged.renamed();
    Ok(())
}

/// Replaces a folder by two renames, where the system cannot exchange folders.
fn set_aside(staged: &Path, target: &Path) -> io::Result<()> {
    let aside = aside_name(target);
    // The lock tells other processes that the folder is not left over.
    let lock = File::open(target)?;
    let _ = lock.try_lock();
    std::fs::rename(target, &aside)?;
    if let Err(error) = std::fs::rename(staged, target) {
        let _ = std::fs::rename(&aside, target);
        return Err(error);
    }
    // What cannot be removed now is removed by the next run.
    let _ = std::fs::remove_dir_all(&aside);
    Ok(())
}

/// Finishes what a process began that was killed between two renames: the old folder returns if there is no new one, and
/// is removed otherwise.
fn restore(target: &Path) {
    let aside = aside_name(target);
    let Ok(lock) = File::open(&aside) else { return };
    if lock.try_lock().is_err() {
        return;
    }
    let _ = if target.exists() { std::fs::remove_dir_all(&aside) } else { std::fs::rename(&aside, target) };
}

/// Fails if an existing folder cannot be replaced by a rename: the current folder, one of its parents, or the root of a
/// mounted file system.
fn check_movable(path: &Path, target: &Path) -> Result<()> {
    let Some(id) = FileId::of(target) else { return Ok(()) };
    let current = std::env::current_dir().unwrap_or_default();
    let what = if current.ancestors().any(|folder| FileId::of(folder) == Some(id)) {
        "the current folder or contains it"
    } else if is_mount_point(target) {
        "the root of a mounted file system"
    } else {
        return Ok(());
    };
    Err(Error::invalid_argument(format!(
        "{}: the folder is {what}, so it cannot be replaced; name a new folder in it, such as {}",
        path.display(),
        path.join("result").display()
    )))
}

/// True if a file system is mounted at a folder.
fn is_mount_point(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
        let root = |found: rustix::fs::Statx| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        statx(CWD, folder, AtFlags::empty(), StatxFlags::empty()).is_ok_and(root)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}
