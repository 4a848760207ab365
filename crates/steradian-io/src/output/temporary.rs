//! Temporary files and folders of outputs: without a name where the system can, otherwise with a name that the next run
//! to the same output recognizes.
//!
//! A name is `.steradian-<checksum of the output's name>-<number>.part`, in the folder of the output. The process that
//! uses it holds a lock on the file, and the system releases the lock when the process ends. So a file of that name
//! without a lock was left by a process that was killed, and is removed by the next one that writes the same output.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::system::resolve::{FileId, folder_of};

/// Largest number of processes that write one output at a time, each with a named temporary file.
const NUMBERS: u32 = 16;

/// The temporary names of this process, for [`remove_all`].
struct NamesInUse {
    /// Each name, with the file that has it.
    names: Vec<(PathBuf, Option<FileId>)>,
    /// True if the process is about to end: no name is created anymore.
    ending: bool,
}

static IN_USE: Mutex<NamesInUse> = Mutex::new(NamesInUse { names: Vec::new(), ending: false });

/// Removes the named temporary files and folders of this process; called before the process ends without unwinding. A
/// thread that is about to create one waits for the end instead.
pub(crate) fn remove_all() {
    let mut in_use = in_use();
    in_use.ending = true;
    for (path, id) in std::mem::take(&mut in_use.names) {
        remove_own(&path, id);
    }
}

fn in_use() -> MutexGuard<'static, NamesInUse> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the end of the process if another thread is ending it after [`remove_all`]. Errors of this thread would be
/// about files that were removed.
pub(crate) fn wait_if_ending() {
    drop(in_use_for_creation());
}

/// Creates, links or renames files of an output. Meanwhile no other thread removes all names and ends the process; after
/// that nothing is created, so that a folder which is being removed receives no further files.
///
/// The function must not use temporary names.
pub(crate) fn while_creating<T>(create: impl FnOnce() -> T) -> T {
    let _in_use = in_use_for_creation();
    create()
}

/// A temporary file without a name, in the folder for temporary files of the system. Where the file system has no such
/// files, it has a name for a moment, which is removed by the next call if the process is killed in that moment.
pub(crate) fn scratch_file() -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let target = std::env::temp_dir().join("scratch");
        remove_strays(&target);
        let private = |path: &Path| File::options().read(true).write(true).create_new(true).mode(0o600).open(path);
        match unnamed_file(folder_of(&target)) {
            Some(file) => Ok(file),
            None => create_named(&target, private).map(|(file, _)| file),
        }
    }
    #[cfg(not(unix))]
    tempfile::tempfile()
}

/// The names, to create one: while they are locked, no other thread removes all and ends the process.
fn in_use_for_creation() -> MutexGuard<'static, NamesInUse> {
    let in_use = in_use();
    if in_use.ending {
        drop(in_use);
        loop {
            std::thread::park();
        }
    }
    in_use
}

/// The name of a temporary file or folder, which is removed on drop. Another process may use the name by then, so only the
/// file that had it is removed.
#[derive(Debug)]
pub(crate) struct TemporaryName {
    path: PathBuf,
    id: Option<FileId>,
}

impl TemporaryName {
    fn new(path: PathBuf, in_use: &mut NamesInUse) -> Self {
        let id = FileId::of(&path);
        in_use.names.push((path.clone(), id));
        Self { path, id }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The name after the file was exchanged for another one, which is removed on drop instead.
    pub(crate) fn exchanged(self) -> Self {
        let path = self.path.clone();
        self.renamed();
        Self::new(path, &mut in_use_for_creation())
    }

    /// Ends the use of the name after the file was renamed: nothing has to be removed.
    pub(crate) fn renamed(mut self) {
        self.forget();
        self.path = PathBuf::new();
    }

    fn forget(&self) {
        in_use().names.retain(|(path, id)| (path, id) != (&self.path, &self.id));
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            remove_own(&self.path, self.id);
            self.forget();
        }
    }
}

/// Removes a file or folder if it still is the one that had this name.
fn remove_own(path: &Path, id: Option<FileId>) {
    if id == FileId::of(path) {
        let _ = remove(path);
    }
}

/// A new file for the content of an output; the name is `None` if the file has none.
pub(crate) fn create_file(target: &Path) -> io::Result<(File, Option<TemporaryName>)> {
    remove_strays(target);
    match unnamed_file(folder_of(target)) {
        Some(file) => Ok((file, None)),
        None => create_named(target, |path| File::options().read(true).write(true).create_new(true).open(path))
            .map(|(file, name)| (file, Some(name))),
    }
}

/// A new folder for the content of an output folder, open so that it is locked.
pub(crate) fn create_folder(target: &Path) -> io::Result<(File, TemporaryName)> {
    remove_strays(target);
    create_named(target, |path| {
        std::fs::create_dir(path)?;
        File::open(path).inspect_err(|_| drop(std::fs::remove_dir(path)))
    })
}

/// Gives a file a temporary name in the folder of its target, by a function that fails if the name exists.
pub(crate) fn name_by(target: &Path, link: impl Fn(&Path) -> io::Result<()>) -> io::Result<TemporaryName> {
    for number in 0..NUMBERS {
        let path = numbered(target, number);
        if !remove_stray(&path) {
            continue;
        }
        let mut in_use = in_use_for_creation();
        match link(&path) {
            Ok(()) => return Ok(TemporaryName::new(path, &mut in_use)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(all_in_use())
}

/// Gives a file without a name this one; fails if it exists.
#[cfg(target_os = "linux")]
pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// A path that opens a file by its descriptor in this process.
#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A file without a name, locked, or `None` if the system or the file system has none, or none that can be named later.
fn unnamed_file(folder: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let file = File::options().read(true).write(true).custom_flags(libc::O_TMPFILE).open(folder).ok()?;
        let _ = file.try_lock();
        std::fs::metadata(descriptor_path(&file)).is_ok().then_some(file)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        None
    }
}

/// Creates a file or folder under the first free name and locks it.
fn create_named(target: &Path, create: impl Fn(&Path) -> io::Result<File>) -> io::Result<(File, TemporaryName)> {
    for number in 0..NUMBERS {
        let path = numbered(target, number);
        if !remove_stray(&path) {
            continue;
        }
        let mut in_use = in_use_for_creation();
        let file = match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        // Before the lock, another process may have found it without one and removed it. File systems without locks
        // have no such processes either: there, nothing counts as left over.
        let taken = matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock));
        if !taken && is_at(&file, &path) {
            return Ok((file, TemporaryName::new(path, &mut in_use)));
        }
    }
    Err(all_in_use())
}

fn all_in_use() -> io::Error {
    io::Error::other(format!("{NUMBERS} other processes write it now, or their temporary files cannot be removed"))
}

/// Removes what killed processes left of this output.
pub(crate) fn remove_strays(target: &Path) {
    for number in 0..NUMBERS {
        remove_stray(&numbered(target, number));
    }
}

/// Removes a file or folder of this name unless a process holds its lock. Returns true if the name is free.
fn remove_stray(path: &Path) -> bool {
    match std::fs::symlink_metadata(path) {
        Ok(kind) if kind.is_file() || kind.is_dir() => {}
        Ok(_) => return false,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    }
    let Ok(file) = File::open(path) else { return false };
    file.try_lock().is_ok() && is_at(&file, path) && remove(path).is_ok()
}

/// True if a path still leads to an open file.
fn is_at(file: &File, path: &Path) -> bool {
    let id = file.metadata().ok().and_then(|metadata| FileId::from_metadata(&metadata));
    id.is_none() || id == FileId::of(path)
}

/// Removes a file, or a folder with its content.
fn remove(path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path)?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

/// A temporary name of an output.
fn numbered(target: &Path, number: u32) -> PathBuf {
    own_name(target, number, "part")
}

/// The name that an output folder has for the moment between two renames, where the system cannot exchange folders.
pub(crate) fn aside_name(target: &Path) -> PathBuf {
    own_name(target, 0, "old")
}

/// A name of this program beside an output. The checksum keeps it short for outputs with names of any length.
fn own_name(target: &Path, number: u32, ending: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let checksum = crc32fast::hash(name.as_encoded_bytes());
    folder_of(target).join(format!(".steradian-{checksum:08x}-{number}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("m");
        std::fs::write(numbered(&target, 0), "left").unwrap();
        std::fs::create_dir(numbered(&target, 1)).unwrap();
        std::fs::write(numbered(&target, 1).join("file"), "left").unwrap();
        let make = |path: &Path| File::options().write(true).create_new(true).open(path);
        let (file, name) = create_named(&target, make).unwrap();
        assert_eq!(name.path(), numbered(&target, 0));
        remove_strays(&target);
        assert!(name.path().exists() && !numbered(&target, 1).exists());
        let (_other, second) = create_named(&target, make).unwrap();
        assert_eq!(second.path(), numbered(&target, 1));
        drop((file, name, second));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_scratch_file_can_be_written_and_read_and_has_no_name() {
        use std::io::{Read, Seek, Write};
        let mut file = scratch_file().unwrap();
        file.write_all(b"frames").unwrap();
        file.rewind().unwrap();
        let mut content = String::new();
        file.read_to_string(&mut content).unwrap();
        assert_eq!(content, "frames");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap()), 0);
    }

    #[test]
    fn more_processes_than_names_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("m");
        let make = |path: &Path| File::options().write(true).create_new(true).open(path);
        let all: Vec<_> = (0..NUMBERS).map(|_| create_named(&target, make).unwrap()).collect();
        assert!(create_named(&target, make).unwrap_err().to_string().starts_with("16 other processes"));
        drop(all);
        create_named(&target, make).unwrap();
    }
}
