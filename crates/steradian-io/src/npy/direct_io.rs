//! Large pieces of a file, read past the system's cache where the file system allows it.
//!
//! A pass over a file that does not fit into memory finds nothing in the cache that the pass before left there, so
//! filling it costs a copy of every byte and pushes out what others need. Direct reads go from the disk into the
//! buffer. They must begin and end on pages, so a buffer holds a little more than was asked for. Where direct reads are
//! refused, the file is read through the cache, and the pages are given back at once.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use steradian::{Error, Result};

use crate::system::pread::length;

/// Direct reads begin and end on multiples of this, in the file and in memory.
const PAGE: usize = 4096;

/// Memory that direct reads can fill, and the piece of a file in it.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    /// Where the piece lies in the memory.
    held: Range<usize>,
}

impl Buffer {
    /// Bytes that a buffer takes for pieces of this many bytes: the pages at both ends, and the way to the first page.
    pub(crate) fn bytes_for(piece: usize) -> usize {
        piece + 3 * PAGE
    }

    /// Room for pieces of this many bytes.
    pub(crate) fn new(piece: usize) -> Self {
        Self { memory: vec![0; Self::bytes_for(piece)], held: 0..0 }
    }

    /// The piece that was read last.
    pub(crate) fn piece(&self) -> &[u8] {
        &self.memory[self.held.clone()]
    }

    /// Makes numbers of `size` bytes usable where they lie: on a multiple of their size, in the order of this machine.
    pub(crate) fn settle(&mut self, size: usize, swap: bool) {
        let past = (self.memory.as_ptr() as usize + self.held.start) % size;
        if past != 0 {
            // There is room: the memory begins before the first page, which is a multiple of any size.
            let start = self.held.start - past;
            self.memory.copy_within(self.held.clone(), start);
            self.held = start..start + self.held.len();
        }
        if swap {
            self.memory[self.held.clone()].chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
    }
}

/// A file for large reads at any place, by any thread.
#[derive(Debug)]
pub(crate) struct DirectFile {
    path: PathBuf,
    cached: File,
    direct: Option<File>,
    /// Its length when it was opened.
    bytes: u64,
}

impl DirectFile {
    /// Takes an open file; `direct` opens it once more, past the cache, if that can be had.
    pub(crate) fn new(path: &Path, cached: File, bytes: u64) -> Self {
        let direct = open_direct(path, &cached);
        if direct.is_none() {
            advise_sequential(&cached);
        }
        Self { path: path.to_path_buf(), cached, direct, bytes }
    }

    /// Whether reads go past the cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Reads a piece of the file; a file that ends before it is an error with the byte.
    pub(crate) fn read(&self, piece: Range<u64>, buffer: &mut Buffer) -> Result<()> {
        let page = PAGE as u64;
        let start = piece.start / page * page;
        let wanted = (piece.end - start) as usize;
        let first = buffer.memory.as_ptr().align_offset(PAGE);
        let into = &mut buffer.memory[first..first + wanted.next_multiple_of(PAGE)];
        let filled = match &self.direct {
            // Some file systems open files for direct reads and then refuse them.
            Some(direct) => match fill(direct, into, wanted, start) {
                Err((_, error)) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.through_cache(into, wanted, start)
                }
                filled => filled,
            },
            None => self.through_cache(into, wanted, start),
        };
        let filled = filled.map_err(|(at, error)| {
            let what = format!("{} bytes from byte {at} on cannot be read: {error}", piece.end - at);
            Error::io(&self.path, io::Error::new(error.kind(), what))
        })?;
        if filled < wanted {
            return Err(self.ended(start + filled as u64, &piece));
        }
        let offset = first + (piece.start - start) as usize;
        buffer.held = offset..offset + (piece.end - piece.start) as usize;
        Ok(())
    }

    fn through_cache(&self, into: &mut [u8], wanted: usize, start: u64) -> Filled {
        let filled = fill(&self.cached, into, wanted, start);
        give_back(&self.cached, start, wanted as u64);
        filled
    }

    fn ended(&self, at: u64, piece: &Range<u64>) -> Error {
        let now = match length(&self.path, &self.cached) {
            Ok(now) => now,
            Err(error) => return error,
        };
        let why = format!(
            "the file ends at byte {at} where bytes {} to {} were expected; it had {} bytes when it was opened and has {now} \
             now: another process changed it; run again when it is complete",
            piece.start, piece.end, self.bytes
        );
        Error::io(&self.path, io::Error::new(io::ErrorKind::UnexpectedEof, why))
    }
}

/// How many bytes were read, or the byte of the file that could not be.
type Filled = std::result::Result<usize, (u64, io::Error)>;

/// Reads until `wanted` bytes are there or the file ends.
fn fill(file: &File, into: &mut [u8], wanted: usize, start: u64) -> Filled {
    let mut filled = 0;
    while filled < wanted {
        let at = start + filled as u64;
        match read_at(file, &mut into[filled..], at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Past a page that is not full there is nothing, and direct reads cannot begin there.
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

/// The same file once more, for direct reads; nothing where the system has none, or where the path holds another file by now.
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
    // It is advice: a system that declines it reads all the same.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

#[cfg(target_os = "linux")]
fn give_back(file: &File, start: u64, bytes: u64) {
    let _ = rustix::fs::fadvise(file, start, std::num::NonZeroU64::new(bytes), rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn advise_sequential(_: &File) {}

#[cfg(not(target_os = "linux"))]
fn give_back(_: &File, _: u64, _: u64) {}
