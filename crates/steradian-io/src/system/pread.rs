//! Positioned reads of a file: threads share one open file without sharing a cursor.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use steradian::{Error, Result};

/// Opens a regular file and returns it with its length in bytes. A pipe or a device is an error: it has no length and
/// cannot be read twice.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64)> {
    // Checked before opening: opening a pipe waits for its writer.
    let kind = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if !kind.is_file() {
        let what = if kind.is_dir() { "a folder" } else { "a pipe or a device" };
        let why = format!("expected a regular file, got {what}; data are read more than once, so save them to a file");
        return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidInput, why)));
    }
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let bytes = length(path, &file)?;
    Ok((file, bytes))
}

/// The current length of the file in bytes.
pub(crate) fn length(path: &Path, file: &File) -> Result<u64> {
    Ok(file.metadata().map_err(|e| Error::io(path, e))?.len())
}

/// The error of a file whose length has changed since it was opened.
pub(crate) fn changed_length(path: &Path, opened: u64, now: u64) -> Error {
    let why = format!(
        "the file had {opened} bytes when it was opened and has {now} now; run again when no other process writes it"
    );
    Error::io(path, io::Error::new(io::ErrorKind::UnexpectedEof, why))
}

/// A reader of a shared file with its own position and an upper limit for it.
#[derive(Debug)]
pub(crate) struct PositionedReader<F> {
    file: F,
    position: u64,
    /// A read at or after this byte is an error of kind `FileTooLarge`.
    pub(crate) limit: u64,
}

impl<F: Borrow<File>> PositionedReader<F> {
    /// A reader that starts at byte `position` and has no limit.
    pub(crate) fn new(file: F, position: u64) -> Self {
        Self { file, position, limit: u64::MAX }
    }
}

impl<F: Borrow<File>> Read for PositionedReader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(self.file.borrow(), buffer, self.position)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(self.file.borrow(), buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}
