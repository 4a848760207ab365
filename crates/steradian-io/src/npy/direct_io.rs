//! Direct I/O (`O_DIRECT`): large reads that bypass the page cache where the file system supports it.
//!
//! A pass over a file that does not fit into memory finds none of its pages in the page cache, so filling the cache
//! copies every byte for nothing and evicts pages of other processes. Direct reads transfer from disk into the buffer.
//! They must start and end at page boundaries, so a buffer is slightly larger than the requested range. Where direct
//! I/O is not supported, the file is read through the page cache, and its pages are released at once.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use steradian::memory;
use steradian::{Error, Result};

use crate::system::pread::length;
use steradian::error::os_error_text;

/// Alignment of direct reads in bytes, in the file and in memory.
const PAGE: usize = 4096;

/// A buffer for direct reads, and the range of it that contains the requested bytes.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    /// Position of the requested bytes in `memory`.
    range: Range<usize>,
}

impl Buffer {
    /// Size in bytes of a buffer for reads of `length` bytes: with the pages at both ends, and the alignment of the
    /// start.
    pub(crate) fn bytes_for(length: usize) -> usize {
        length + 3 * PAGE
    }

    /// A buffer for reads of at most `length` bytes.
    pub(crate) fn new(length: usize) -> Self {
        Self { memory: memory::filled(Self::bytes_for(length), 0), range: 0..0 }
    }

    /// The bytes of the last read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }

    /// Makes elements of `size` bytes usable in place: aligns them, and swaps their bytes if `swap` is set.
    pub(crate) fn align(&mut self, size: usize, swap: bool) {
        let offset = (self.memory.as_ptr() as usize + self.range.start) % size;
        if offset != 0 {
            // The new start is not before the first page, whose address is a multiple of any element size.
            let start = self.range.start - offset;
            self.memory.copy_within(self.range.clone(), start);
            self.range = start..start + self.range.len();
        }
        if swap {
            self.memory[self.range.clone()].chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
    }
}

/// A file for large positioned reads by several threads.
#[derive(Debug)]
pub(crate) struct DirectFile {
    path: PathBuf,
    /// The file with reads through the page cache.
    cached: File,
    /// The file with direct reads, if these are supported.
    direct: Option<File>,
    /// Length of the file in bytes when it was opened.
    bytes: u64,
}

impl DirectFile {
    /// Takes an open file and opens it a second time for direct reads, if these are supported.
    pub(crate) fn new(path: &Path, cached: File, bytes: u64) -> Self {
        let direct = open_direct(path, &cached);
        if direct.is_none() {
            advise_sequential(&cached);
        }
        Self { path: path.to_path_buf(), cached, direct, bytes }
    }

    /// True if reads bypass the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Reads a range of bytes; the error of a file that is too short names the byte where it ends.
    pub(crate) fn read(&self, range: Range<u64>, buffer: &mut Buffer) -> Result<()> {
        let page = PAGE as u64;
        let start = range.start / page * page;
        let count = (range.end - start) as usize;
        let first = buffer.memory.as_ptr().align_offset(PAGE);
        let into = &mut buffer.memory[first..first + count.next_multiple_of(PAGE)];
        let filled = match &self.direct {
            // Some file systems open a file for direct reads and then reject the reads.
            Some(direct) => match fill(direct, into, count, start) {
                Err((_, error)) if error.kind() == io::ErrorKind::InvalidInput => self.read_cached(into, count, start),
                filled => filled,
            },
            None => self.read_cached(into, count, start),
        };
        let filled = filled.map_err(|(at, error)| {
            let problem = format!("cannot read {} bytes at byte {at}: {}", range.end - at, os_error_text(&error));
            Error::io(&self.path, io::Error::new(error.kind(), problem))
        })?;
        if filled < count {
            return Err(self.truncated(start + filled as u64, &range));
        }
        let offset = first + (range.start - start) as usize;
        buffer.range = offset..offset + (range.end - range.start) as usize;
        Ok(())
    }

    fn read_cached(&self, into: &mut [u8], count: usize, start: u64) -> FillResult {
        let filled = fill(&self.cached, into, count, start);
        release_pages(&self.cached, start, count as u64);
        filled
    }

    fn truncated(&self, at: u64, range: &Range<u64>) -> Error {
        let now = match length(&self.path, &self.cached) {
            Ok(now) => now,
            Err(error) => return error,
        };
        let problem = format!(
            "the file ends at byte {at}, expected bytes {}..{}; it had {} bytes when it was opened and has {now} now; run again \
             when no other process writes it",
            range.start, range.end, self.bytes
        );
        Error::io(&self.path, io::Error::new(io::ErrorKind::UnexpectedEof, problem))
    }
}

/// Number of bytes read, or the byte of the file at which the read failed and the error.
type FillResult = std::result::Result<usize, (u64, io::Error)>;

/// Reads `count` bytes, or fewer if the file ends.
fn fill(file: &File, into: &mut [u8], count: usize, start: u64) -> FillResult {
    let mut filled = 0;
    while filled < count {
        let at = start + filled as u64;
        match read_at(file, &mut into[filled..], at) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // An incomplete page is the last one, and a direct read cannot start within a page.
            Err(_) if !filled.is_multiple_of(PAGE) => break,
            Err(error) => return Err((at, error)),
        }
    }
    Ok(filled)
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}

/// Opens a file a second time for direct reads; `None` if they are not supported, or if the path is another file by
/// now.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path, opened: &File) -> Option<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let direct = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).ok()?;
    let identity = |file: &File| file.metadata().map(|file| (file.dev(), file.ino())).ok();
    (identity(&direct)? == identity(opened)?).then_some(direct)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path, _: &File) -> Option<File> {
    None
}

#[cfg(target_os = "linux")]
fn advise_sequential(file: &File) {
    // Only a hint: reads work without it.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

#[cfg(target_os = "linux")]
fn release_pages(file: &File, start: u64, bytes: u64) {
    let _ = rustix::fs::fadvise(file, start, std::num::NonZeroU64::new(bytes), rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn advise_sequential(_: &File) {}

#[cfg(not(target_os = "linux"))]
fn release_pages(_: &File, _: u64, _: u64) {}
