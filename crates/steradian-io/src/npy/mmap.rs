//! Memory-mapped files, and bytes reinterpreted as elements.
//!
//! All unsafe code of the crate is in this file, in `malloc.rs` and in `signals.rs`.
//!
//! # When another process truncates a mapped file
//!
//! The mapping is not a private copy: access to a page after the new end raises `SIGBUS`, which terminates the process.
//! There are two precautions:
//!
//! - Every visit first checks the length of the open file. If the file is shorter than before, the visit returns an
//!   error with both lengths.
//! - A truncation *during* a visit cannot be detected this way. If the program has called [`install_sigbus_handler`](crate::mapped::install_sigbus_handler),
//!   it then exits with one line on the standard error and exit code 4; otherwise the signal terminates it.
//!
//! A file that is *rewritten in place* with the same length is not detected: each pass reads the current content. A
//! file that is *replaced* (written and renamed, as the outputs of this crate are) is harmless: the mapping still
//! refers to the old file.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::{Mmap, MmapOptions};
use steradian::{Error, Result};

use crate::npy::element::FileElement;
use crate::system::pread::{changed_length, length};

/// Size in bytes from which a file releases its pages after each visit (`MADV_DONTNEED`), so that a long pass does not
/// count the whole file as memory of this process. The pages remain in the page cache; mapping them again takes about
/// 0.05 s per GiB, which smaller files avoid.
const RELEASE_THRESHOLD: usize = 256 << 20;
/// Unit in bytes of the `madvise` hints for smaller files, one hint per chunk, since their pages remain mapped. A pair
/// pass visits each row many times; a hint per visit took 6 % of the time of a fit of 633 x 20480.
const HINT_CHUNK: usize = 1 << 20;

/// A file that is mapped for reading.
#[derive(Debug)]
pub(crate) struct MappedFile {
    path: PathBuf,
    file: File,
    map: Mmap,
    /// True for each chunk with a hint; empty for a file that releases its pages.
    hinted: Box<[AtomicBool]>,
}

impl MappedFile {
    /// Maps the first `bytes` of an open file.
    pub(crate) fn new(path: &Path, file: File, bytes: u64) -> Result<Self> {
        let bytes = usize::try_from(bytes).map_err(|_| {
            Error::invalid_argument(format!(
                "{}: the file has {bytes} bytes, which exceeds the address space",
                path.display()
            ))
        })?;
        // SAFETY: the map is read-only and private to this struct, and is borrowed only as bytes or as elements, for
        // which every bit pattern is a value. Other processes may change the file: a changed element is still a valid
        // value, and the head of this module describes the treatment of a truncated file.
        let map = unsafe { MmapOptions::new().len(bytes).map(&file) }.map_err(|e| Error::io(path, e))?;
        let chunks = if bytes < RELEASE_THRESHOLD { bytes.div_ceil(HINT_CHUNK) } else { 0 };
        Ok(Self { path: path.to_path_buf(), file, map, hinted: (0..chunks).map(|_| AtomicBool::new(false)).collect() })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the file is shorter than the mapping.
    pub(crate) fn check_length(&self) -> Result<()> {
        let (opened, now) = (self.map.len() as u64, length(&self.path, &self.file)?);
        if now < opened { Err(changed_length(&self.path, opened, now)) } else { Ok(()) }
    }

    /// A range of bytes of the file.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.map[range]
    }

    /// A range of bytes as elements of the native byte order; `None` if they are not aligned.
    pub(crate) fn elements<T: FileElement>(&self, range: Range<usize>) -> Option<&[T]> {
        as_elements(&self.map[range])
    }

    /// Hints that a range will be read (`MADV_POPULATE_READ`): one call maps its pages instead of one fault per few
    /// pages.
    pub(crate) fn prepare(&self, range: Range<usize>) {
        if self.hinted.is_empty() {
            return self.populate(range);
        }
        for chunk in range.start / HINT_CHUNK..range.end.div_ceil(HINT_CHUNK) {
            if !self.hinted[chunk].swap(true, Ordering::Relaxed) {
                self.populate(chunk * HINT_CHUNK..((chunk + 1) * HINT_CHUNK).min(self.map.len()));
            }
        }
    }

    fn populate(&self, range: Range<usize>) {
        #[cfg(target_os = "linux")]
        if !range.is_empty() {
            // Only a hint: older kernels do not support it and map the pages one by one.
            drop(self.map.advise_range(memmap2::Advice::PopulateRead, range.start, range.len()));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = range;
    }

    /// Releases the pages of a range (`MADV_DONTNEED`); they can be read again at any time.
    pub(crate) fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if self.hinted.is_empty() && !range.is_empty() {
            // SAFETY: the mapping is shared, read-only and backed by the file, so a released page has the content of
            // the file when it is accessed again, also through a borrow of another thread.
            let done = unsafe {
                self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.len())
            };
            // Only a hint: a failure does not change the content.
            drop(done);
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

/// Bytes as elements of the native byte order; `None` if they are not aligned or not a multiple of the element size.
pub(crate) fn as_elements<T: FileElement>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: every bit pattern is a value of T (`AnyBits`, which is sealed), and `align_to` casts only aligned bytes.
    let (before, elements, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(elements)
}
