//! Paths with links resolved, also of files that do not exist yet, and the identity of files.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// Largest number of symbolic links in a row, as in Linux.
const MAX_LINKS: usize = 40;

/// The absolute path that a path leads to, without links. The file need not exist, and neither need its folders.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    Ok(hops(path)?.pop().expect("a path has at least one hop"))
}

/// The paths that lead to a file: the given one and the target of each symbolic link after it, in resolved folders.
/// Removing any of them makes the given path invalid.
pub(crate) fn hops(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut path = std::path::absolute(path)?;
    let mut hops = Vec::new();
    for _ in 0..MAX_LINKS {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            // The root, or a path that ends with `..`.
            hops.push(std::fs::canonicalize(&path)?);
            return Ok(hops);
        };
        let folder = match std::fs::canonicalize(folder) {
            Ok(folder) => folder,
            Err(_) => resolve(folder)?,
        };
        let hop = folder.join(name);
        let link = std::fs::read_link(&hop);
        hops.push(hop);
        match link {
            // An absolute target replaces the folder.
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(hops),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Device and number of a file: equal for two paths of one file, also for hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    /// The identity of the file at a path after all links; `None` if there is none or the system has no such numbers.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::from_metadata(&std::fs::metadata(path).ok()?)
    }

    #[cfg(unix)]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    pub(crate) fn from_metadata(_: &Metadata) -> Option<Self> {
        None
    }
}

/// The folder of a path; `.` for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_files_that_do_not_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        link("real", "folder");
        link("folder/second", "first");
        link("../absent", "real/second");
        assert_eq!(resolve(&root.join("first")).unwrap(), root.join("absent"));
        assert_eq!(
            hops(&root.join("first")).unwrap(),
            [root.join("first"), root.join("real/second"), root.join("absent")]
        );
        assert_eq!(resolve(&root.join("folder/deep/file/")).unwrap(), root.join("real/deep/file"));
        assert_eq!(resolve(&root.join("folder/..")).unwrap(), root);
        link("circle", "circle");
        assert!(resolve(&root.join("circle")).is_err());
    }
}
