//! Memory-mapped files, and bytes reinterpreted as numbers; but for `malloc.rs`, all unsafe code of this crate is here.
//!
//! # When another process shortens a mapped file
//!
//! The system keeps no private copy: pages past the new end are gone, and touching one raises `SIGBUS`, which ends a
//! process at once. Two things stand against that.
//!
//! - Every visit first asks the length of the open file. A file that is already shorter than it was is an error that
//!   names both lengths.
//! - A file that is shortened *during* a visit cannot be caught so. A program that has called [`install_sigbus_handler`]
//!   then ends with one line on the standard error and exit code 4. Without the call it ends by the bare signal.
//!
//! A file that is *rewritten in place* at the same length is not noticed: the numbers are those found at the time of
//! each pass. A file that is *replaced* (written anew and renamed, as this crate's own outputs are) does no harm: the
//! mapping keeps the old one.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::{Mmap, MmapOptions};
use steradian::{Error, Result};

use crate::npy::element::FileElement;
use crate::system::pread::{changed_length, length};

/// Files of at least this many bytes give their pages back after each visit, so that a long pass does not count the
/// whole file as this process's memory. The pages stay in the system's cache and return at about 0.05 s per GiB, which
/// smaller files are spared.
const RELEASE_FROM: usize = 256 << 20;
/// A smaller file is announced by pieces of so many bytes, each once: its pages stay. A pass over all pairs of rows visits them many
/// times, and having the system look for them each time was 6 % of a fit of 633 x 20480.
const PIECE: usize = 1 << 20;

/// A whole file, mapped for reading.
#[derive(Debug)]
pub(crate) struct Mapped {
    path: PathBuf,
    file: File,
    map: Mmap,
    /// Which pieces were announced; none of a file that gives its pages back.
    announced: Box<[AtomicBool]>,
}

impl Mapped {
    /// Maps the first `bytes` of an open file.
    pub(crate) fn new(path: &Path, file: File, bytes: u64) -> Result<Self> {
        let bytes = usize::try_from(bytes).map_err(|_| {
            Error::invalid_argument(format!(
                "{}: a file of {bytes} bytes is more than this machine can map",
                path.display()
            ))
        })?;
        // SAFETY: the map is read-only and private to this struct, and is only lent out as bytes or as numbers, of
        // which every bit pattern is a value. Other processes may still change the file: a changed number is one that
        // could as well have been there, and a shortened file is treated as the module's head says.
        let map = unsafe { MmapOptions::new().len(bytes).map(&file) }.map_err(|e| Error::io(path, e))?;
        let pieces = if bytes < RELEASE_FROM { bytes.div_ceil(PIECE) } else { 0 };
        Ok(Self {
            path: path.to_path_buf(),
            file,
            map,
            announced: (0..pieces).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    /// The file's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails when the file has become shorter than what is mapped.
    pub(crate) fn check_length(&self) -> Result<()> {
        let (opened, now) = (self.map.len() as u64, length(&self.path, &self.file)?);
        if now < opened { Err(changed_length(&self.path, opened, now)) } else { Ok(()) }
    }

    /// Some bytes of the file.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.map[range]
    }

    /// Some bytes of the file as numbers of this machine, or nothing where they do not lie on a multiple of their size.
    pub(crate) fn elements<T: FileElement>(&self, range: Range<usize>) -> Option<&[T]> {
        as_numbers(&self.map[range])
    }

    /// Says that some bytes are about to be read: one call maps their pages, instead of a fault for every few of them.
    pub(crate) fn prepare(&self, range: Range<usize>) {
        if self.announced.is_empty() {
            return self.populate(range);
        }
        for piece in range.start / PIECE..range.end.div_ceil(PIECE) {
            if !self.announced[piece].swap(true, Ordering::Relaxed) {
                self.populate(piece * PIECE..((piece + 1) * PIECE).min(self.map.len()));
            }
        }
    }

    fn populate(&self, range: Range<usize>) {
        #[cfg(target_os = "linux")]
        if !range.is_empty() {
            // It is advice: older systems do not know it and fault the pages in one by one.
            drop(self.map.advise_range(memmap2::Advice::PopulateRead, range.start, range.len()));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = range;
    }

    /// Says that some bytes are not needed for now; they may be read again at any time.
    pub(crate) fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if self.announced.is_empty() && !range.is_empty() {
            // SAFETY: the mapping is shared, read-only and backed by the file, so a page given back returns with the
            // file's content when it is touched again, also under a borrow held by another thread.
            let done = unsafe {
                self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.len())
            };
            // It is advice: when the system declines, only its own bookkeeping differs.
            drop(done);
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

/// Bytes as numbers of this machine, or nothing where they do not lie on a multiple of their size.
pub(crate) fn as_numbers<T: FileElement>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: every bit pattern is a value of T (`AnyBits`, which is sealed), and `align_to` only calls those bytes T that lie on its
    // alignment.
    let (before, numbers, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(numbers)
}

/// Makes a file that is cut short while it is being read end the process with a clear line and exit code 4.
///
/// It installs a handler for `SIGBUS`, so it belongs at the start of a program, never in a library. On systems without
/// signals it does nothing.
pub fn install_sigbus_handler() {
    #[cfg(unix)]
    {
        // SAFETY: `action` is a plain C struct for which zero bytes are a valid start; the handler is an `extern "C"`
        // function of the one-argument form (no SA_SIGINFO) and calls only what is allowed in a handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    }
}

#[cfg(unix)]
extern "C" fn on_bus_error(_signal: libc::c_int) {
    const LINE: &[u8] = b"error: a file was cut short by another process while it was being read, or its disk failed; \
        run again when the file is complete\n";
    // SAFETY: `write` and `_exit` are async-signal-safe, and LINE is a constant of its own length.
    unsafe {
        libc::write(libc::STDERR_FILENO, LINE.as_ptr().cast(), LINE.len());
        libc::_exit(4);
    }
}
