//! Size, time of modification and number of a file or of the images of a folder, by which a change of data is detected.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

use steradian::fit::FileStamp;
use steradian::{Error, Result};

use crate::system::image_name::is_image_name;

/// The stamp of a file, or of the images of a folder.
pub fn file_stamp(path: impl AsRef<Path>) -> Result<FileStamp> {
    let path = path.as_ref();
    let found = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if !found.is_dir() {
        return Ok(FileStamp { bytes: found.len(), modified: modified(&found), listing: None, inode: inode(&found) });
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| Error::io(path, e))? {
        files.push(entry.map_err(|e| Error::io(path, e))?.path());
    }
    // Other files are not data; the checkpoint itself may be among them.
    files.retain(|file| is_image_name(file));
    files.sort();
    let (mut bytes, mut listing) = (0, crc32fast::Hasher::new());
    for file in &files {
        // A link may lead nowhere; then it is no data.
        let Ok(found) = std::fs::metadata(file) else { continue };
        let time = modified(&found).unwrap_or_default().as_nanos();
        listing.update(file.file_name().unwrap_or_default().as_encoded_bytes());
        listing.update(&[0]);
        listing.update(&found.len().to_le_bytes());
        listing.update(&time.to_le_bytes());
        bytes += found.len();
    }
    // The time of a folder changes with files that are not data.
    Ok(FileStamp { bytes, modified: None, listing: Some(listing.finalize()), inode: inode(&found) })
}

fn modified(found: &Metadata) -> Option<Duration> {
    found.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()
}

#[cfg(unix)]
fn inode(found: &Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(found))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<u64> {
    None
}
