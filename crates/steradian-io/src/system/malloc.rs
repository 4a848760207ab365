//! Settings of the allocator: large freed memory is returned to the system at once.

#![allow(unsafe_code)]

/// Memory of this size and more is mapped by itself and unmapped when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM: libc::c_int = 4 << 20;
/// So much of smaller freed memory is kept for what comes next.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: libc::c_int = 4 << 20;

/// Makes the memory of the process follow what it uses.
///
/// The GNU allocator raises its bound for mapped memory each time a mapped piece is freed, up to 32 MiB. Vectors of a
/// few MiB then lie among small ones, whose holes do not go back: a fit of 107520 features kept up to 55 MB more than it
/// used. A fixed bound ends that. It sets the process's allocator, so it belongs at the start of a program, never in a
/// library. With other allocators it does nothing.
pub fn limit_malloc_retention() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two numbers; one that it declines changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}
