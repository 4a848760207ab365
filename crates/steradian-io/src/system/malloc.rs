//! Settings of the allocator: large freed blocks are returned to the system at once.

#![allow(unsafe_code)]

/// Size in bytes from which an allocation has its own mapping, which is unmapped when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD: libc::c_int = 4 << 20;
/// Bytes of smaller freed memory that the allocator retains for later allocations.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAX_RETAINED: libc::c_int = 4 << 20;

/// Limits the freed memory that the allocator retains, so that the size of the process follows its use of memory.
///
/// The GNU allocator raises its threshold for mappings each time a mapped block is freed, up to 32 MiB. Vectors of a
/// few MiB are then allocated between small ones and are not returned to the system: a fit of 107520 features retained
/// up to 55 MB more than it used. A fixed threshold prevents this. The function changes the allocator of the process,
/// so call it at the start of a program, never in a library. With other allocators it does nothing.
pub fn limit_malloc_retention() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two integers; a value that it rejects changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MAX_RETAINED);
    }
}
