//! The kinds of calls that can fail, and the counts of each.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Writes to files and pipes, except standard output and standard error.
    Write,
    /// Writes to standard output and standard error.
    Print,
    /// Reads.
    Read,
    /// Flushes of file content and of folders to the disk.
    Sync,
    /// Renames and exchanges of names.
    Rename,
    /// New names of existing files.
    Link,
    /// Opened files and folders.
    Open,
    /// Mapped files.
    Map,
    /// Changes of the length of a file.
    Truncate,
    /// Removed files and folders.
    Remove,
    /// New folders.
    Folder,
    /// Changed permissions.
    Permission,
    /// Started threads.
    Thread,
    /// Started processes.
    Process,
    /// Large allocations.
    Allocate,
    /// All calls that change the file system.
    Change,
}

/// Names of the kinds in the environment, in their order.
pub const NAMES: [&str; 16] = [
    "write",
    "print",
    "read",
    "sync",
    "rename",
    "link",
    "open",
    "map",
    "truncate",
    "remove",
    "folder",
    "permission",
    "thread",
    "process",
    "allocate",
    "change",
];

/// Counts of calls by kind, and the number of faults; a mapped file, so that they outlast a killed process.
#[repr(C)]
pub struct CallCounts {
    pub calls: [AtomicU64; NAMES.len()],
    pub faults: AtomicU64,
}

impl CallCounts {
    const fn new() -> Self {
        Self { calls: [const { AtomicU64::new(0) }; NAMES.len()], faults: AtomicU64::new(0) }
    }
}

static HERE: CallCounts = CallCounts::new();
static MAPPED: AtomicPtr<CallCounts> = AtomicPtr::new(std::ptr::null_mut());

/// The counts of this process.
pub fn counts() -> &'static CallCounts {
    // SAFETY: the pointer is null or that of `map`, whose mapping is never removed.
    unsafe { MAPPED.load(SeqCst).as_ref() }.unwrap_or(&HERE)
}

/// Maps the file for the counts. System calls are direct, so that none is counted.
///
/// # Safety
/// `path` must be a C string.
pub unsafe fn map(path: *const libc::c_char) {
    // SAFETY: the arguments are those of open, ftruncate, mmap and close; the mapping has the size of `CallCounts`, any content
    // of which is valid.
    unsafe {
        let file = libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path,
            libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC,
            0o600,
        );
        if file < 0 || libc::syscall(libc::SYS_ftruncate, file, size_of::<CallCounts>()) != 0 {
            return;
        }
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let mapped = libc::syscall(libc::SYS_mmap, 0usize, size_of::<CallCounts>(), access, shared, file, 0usize);
        libc::syscall(libc::SYS_close, file);
        if mapped > 0 {
            MAPPED.store(mapped as *mut CallCounts, SeqCst);
        }
    }
}
