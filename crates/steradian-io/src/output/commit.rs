//! The last step of an output: a complete file gets its name, in a way that can be taken back.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use crate::output::temporary::link;
use crate::output::temporary::{TemporaryName, name_by, while_creating};

/// A file that is in place. Dropping it removes the file that it replaced.
pub(crate) struct CommittedFile {
    target: PathBuf,
    way: Way,
}

/// The way in which a file was put into place.
enum Way {
    /// There was no file.
    New,
    /// The replaced file now has this temporary name.
    Kept(TemporaryName),
    /// The replaced file is gone.
    Replaced,
}

impl CommittedFile {
    /// The path of the file.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Removes a new file; a replaced one returns.
    pub(crate) fn take_back(self) {
        // If this fails, too, the new file stays: it is complete.
        match self.way {
            Way::New => drop(std::fs::remove_file(&self.target)),
            Way::Kept(old) => drop(rename(old, &self.target)),
            Way::Replaced => {}
        }
    }
}

/// Puts a file into place. With `keep`, a replaced file is kept so that it can return.
pub(crate) fn place(
    file: &File,
    name: Option<TemporaryName>,
    target: PathBuf,
    keep: bool,
) -> io::Result<CommittedFile> {
    let way = place_at(file, name, &target, keep)?;
    Ok(CommittedFile { target, way })
}

fn place_at(file: &File, name: Option<TemporaryName>, target: &Path, keep: bool) -> io::Result<Way> {
    let name = match name {
        Some(name) => name,
        #[cfg(target_os = "linux")]
        None => match while_creating(|| link(file, target)) {
            Ok(()) => return Ok(Way::New),
            // A link cannot replace a file, a rename can.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => name_by(target, |name| link(file, name))?,
            Err(error) => return Err(error),
        },
        #[cfg(not(target_os = "linux"))]
        None => unreachable!("only Linux has files without a name, and {file:?} is none"),
    };
    let is_new = !target.exists();
    if !is_new && keep {
        if exchange(name.path(), target)? {
            let old = name.exchanged();
            // An exchange also takes a folder, which a rename would reject.
            if old.path().is_dir() {
                let _ = exchange(old.path(), target)?;
                drop(old.exchanged());
                return Err(io::ErrorKind::IsADirectory.into());
            }
            return Ok(Way::Kept(old));
        }
        // File systems without hard links cannot keep the replaced file.
        if let Ok(old) = name_by(target, |name| std::fs::hard_link(target, name)) {
            rename(name, target)?;
            return Ok(Way::Kept(old));
        }
    }
    rename(name, target)?;
    Ok(if is_new { Way::New } else { Way::Replaced })
}

/// Renames a temporary file into place.
fn rename(name: TemporaryName, target: &Path) -> io::Result<()> {
    while_creating(|| std::fs::rename(name.path(), target))?;
    name.renamed();
    Ok(())
}

/// Exchanges the names of two files or folders in one step; false if the system or the file system cannot.
pub(crate) fn exchange(a: &Path, b: &Path) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match while_creating(|| renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (a, b);
        Ok(false)
    }
}

/// Makes renames in a folder durable. Some file systems cannot sync folders; the content is on disk in any case.
pub(crate) fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}
