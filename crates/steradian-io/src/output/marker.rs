//! The marker of an output folder: a file that lists what this program wrote into it.
//!
//! | line | content |
//! |---|---|
//! | 1 | `steradian output 1` |
//! | 2, .. | the path of each file within the folder, sorted, with `/` between folders |
//!
//! A folder is replaced only if it is empty or has a marker and holds nothing but the listed files.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use steradian::{Error, Result};

/// File name of the marker.
pub const MARKER: &str = ".steradian-output";
/// First line of the marker.
const TITLE: &str = "steradian output 1";

/// Fails if a folder exists that this program may not replace, with the reason.
pub(crate) fn check_replaceable(shown: &Path, folder: &Path) -> Result<()> {
    let unreadable = |e| Error::io(shown, e);
    let found = match files_within(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let problem = "expected a folder, got a file; name a new folder";
            return Err(Error::io(shown, io::Error::new(io::ErrorKind::NotADirectory, problem)));
        }
        found => found.map_err(unreadable)?,
    };
    if found.is_empty() {
        return Ok(());
    }
    if !found.contains(MARKER) {
        return Err(Error::invalid_argument(format!(
            "{}: the folder is not empty and has no file {MARKER}, so it may hold files of yours; name a new folder, or \
             remove this one if an earlier version wrote it",
            shown.display()
        )));
    }
    let text = std::fs::read_to_string(folder.join(MARKER)).map_err(unreadable)?;
    let mut lines = text.lines();
    if lines.next() != Some(TITLE) {
        return Err(Error::invalid_argument(format!(
            "{}: the file {MARKER} in the folder is not of this version; name a new folder, or remove this one",
            shown.display()
        )));
    }
    let listed: BTreeSet<&str> = lines.chain([MARKER]).collect();
    match found.iter().find(|name| !listed.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::invalid_argument(format!(
            "{}: the folder would be replaced, and {name:?} in it is not an output of this program; move it, or name a \
             new folder",
            shown.display()
        ))),
    }
}

/// The marker of a folder with these files.
pub(crate) fn marker_of(folder: &Path) -> io::Result<String> {
    let mut text = format!("{TITLE}\n");
    for name in files_within(folder)? {
        text.push_str(&name);
        text.push('\n');
    }
    Ok(text)
}

/// Paths of all files within a folder and its folders. A link counts as a file; an empty folder counts with a `/` at
/// its end, so that no marker lists it.
fn files_within(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(within) = folders.pop() {
        let mut is_empty = true;
        for entry in std::fs::read_dir(folder.join(&within))? {
            let entry = entry?;
            is_empty = false;
            let name = format!("{within}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(name + "/");
            } else {
                found.insert(name);
            }
        }
        if is_empty && !within.is_empty() {
            found.insert(within);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_files_may_be_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("out");
        let check = || check_replaceable(Path::new("out"), &folder).map_err(|error| error.to_string());
        assert_eq!(check(), Ok(()), "absent");
        std::fs::create_dir_all(folder.join("masks")).unwrap();
        assert!(check().unwrap_err().contains("has no file .steradian-output"), "a folder in it");
        std::fs::write(folder.join("masks/0.png"), "x").unwrap();
        assert!(check().unwrap_err().contains("has no file .steradian-output"));
        std::fs::write(folder.join(MARKER), marker_of(&folder).unwrap()).unwrap();
        assert_eq!(check(), Ok(()));
        for own in ["notes.txt", "masks/1.png", "sub"] {
            let path = folder.join(own);
            if own == "sub" {
                std::fs::create_dir(&path).unwrap()
            } else {
                std::fs::write(&path, "x").unwrap()
            }
            assert!(check().unwrap_err().contains(own), "{own}");
            if own == "sub" { std::fs::remove_dir(&path).unwrap() } else { std::fs::remove_file(&path).unwrap() }
        }
        std::fs::remove_file(folder.join("masks/0.png")).unwrap();
        assert!(check().unwrap_err().contains("masks/"), "an emptied folder");
        std::fs::remove_dir(folder.join("masks")).unwrap();
        assert_eq!(check(), Ok(()), "a listed file that was removed");
        std::fs::write(folder.join(MARKER), "other\n").unwrap();
        assert!(check().unwrap_err().contains("not of this version"));
    }
}
